"""Words and cards for people, shared by `cli/` and `report/`: tables, events, moves, audits.

All functions are pure: they take messages and return text. The sentences are Fluent messages in
`service/text/locale/<language>/table.ftl`.
"""
