"""Chooses the core for the tests: plain Python, unless `DURAK_CORE` says otherwise.

The examples in docstrings belong to the sources. They are not collected with a compiled core.
"""

import os

os.environ.setdefault("DURAK_CORE", "pure")
collect_ignore = ["domain"] if os.environ["DURAK_CORE"] == "compiled" else []
