"""`durak audit report`: a match as one HTML file, with the table move by move and the findings.

- `frames` is the table after each record.
- `remarks` is the findings and illegal plays by version.
- `sections` is the HTML of the parts of the page.
- `verify.mjs` is the verifier of the page.
- `page` joins them with `page.html`, `page.css` and `page.js`.
"""
