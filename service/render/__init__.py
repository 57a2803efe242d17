"""How cards, tables and events look at a terminal. Pure: text in, text out.

The sentences are the Fluent texts in `service/text/locale/<language>/table.ftl`. This package adds
their arguments and colours.
"""
