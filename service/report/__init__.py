"""`durak audit report`: a match as one HTML file, drawn move by move, with what the audit found.

- `frames` the table after each record
- `page` the file; `page.html`, `page.css`, `page.js` are its parts
"""
