"""The core compiled by mypyc: how it is built, and when a checkout uses it (docs/adr/0021)."""
