"""How cards, tables and events look at a terminal. Pure: text in, text out.

The sentences are the Fluent texts of `service/locale/<language>/table.ftl`; here they get their
arguments and their colours.
"""
