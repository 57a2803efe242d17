"""Generate the parts of the docs that repeat the code.

    python docs/generate.py            rewrite them in place (`make docs`)
    python docs/generate.py --check    fail and list the pages that are not current

A generated part is the text between `<!-- generated: NAME -->` and `<!-- end of NAME -->`, where
NAME is a key of `PARTS`.
"""

import argparse
import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import NoneType
from typing import get_args

from service.config import Config

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent


def settings_table() -> str:
    """Return the table of all settings. Its texts are the docstrings in service/config.py."""
    texts = dict(attribute_docstrings(ROOT / "service/config.py"))
    rows = ["| variable | default | meaning |", "|---|---|---|"]
    for name, field in Config.model_fields.items():
        default = "–" if NoneType in get_args(field.annotation) else f"`{field.default}`"
        rows.append(f"| `DURAK_{name.upper()}` | {shortened(default)} | {texts[name]} |")
    return "\n".join(rows)


def shortened(default: str) -> str:
    """Drop the decimals of a whole number."""
    return re.sub(r"\.0(?=`$)", "", default)


def attribute_docstrings(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the docstring, on one line, of each documented attribute of a class."""
    for scope in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(scope, ast.ClassDef):
            continue
        for attribute, text in zip(scope.body, scope.body[1:], strict=False):
            match attribute, text:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(docstring))),
                ):
                    yield name, " ".join(docstring.split())


PARTS: dict[str, Callable[[], str]] = {"settings": settings_table}


def current(page: str) -> str:
    """Return a page with its generated parts replaced by new ones."""
    for name, part in PARTS.items():
        start, end = f"<!-- generated: {name} -->", f"<!-- end of {name} -->"
        if start in page:
            before, rest = page.split(start, 1)
            after = rest.split(end, 1)[1]
            page = f"{before}{start}\n{part()}\n{end}{after}"
    return page


def main() -> None:
    """Rewrite the pages. With `--check` only verify that the committed ones are current."""
    parser = argparse.ArgumentParser(description="Generate the parts of the docs that repeat code.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if not current")
    check = parser.parse_args().check
    stale = []
    for path in sorted(DOCS.rglob("*.md")):
        page = path.read_text("utf-8")
        if (wanted := current(page)) != page:
            stale.append(str(path.relative_to(ROOT)))
            if not check:
                path.write_text(wanted, "utf-8")
    if stale and check:
        sys.exit("\n".join([f"not current: {name}" for name in stale] + ["run `make docs`"]))


if __name__ == "__main__":
    main()
