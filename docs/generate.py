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
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path

import grimp

from service.config import Config

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PACKAGES = ("service", "domain", "eventstore")


def settings_table() -> str:
    """Return the table of all settings. Its texts are the docstrings in service/config.py."""
    texts = dict(attribute_docstrings(ROOT / "service/config.py"))
    rows = ["| variable | default | meaning |", "|---|---|---|"]
    for name, field in Config.model_fields.items():
        has_default = field.default is not None and field.default != ()
        default = "–" if not has_default else f"`{field.default}`"
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


def rooms_table(package: str) -> str:
    """Return the table of the folders and modules of a package, with their first sentences."""
    rows = ["| room | contents |", "|---|---|"]
    for room in imports_of_rooms(package):
        folder = ROOT / package / room
        is_folder = folder.is_dir()
        source = folder / "__init__.py" if is_folder else folder.with_suffix(".py")
        rows.append(f"| `{room}{'/' if is_folder else '.py'}` | {first_sentence(source)} |")
    return "\n".join(rows)


def first_sentence(source: Path) -> str:
    """Return the first line of the docstring of a module."""
    docstring = ast.get_docstring(ast.parse(source.read_text("utf-8")))
    if docstring is None:
        sys.exit(f"{source.relative_to(ROOT)} has no docstring")
    return docstring.splitlines()[0]


def picture(package: str) -> str:
    """Return a Mermaid diagram of the imports between the rooms of a package.

    An arrow means "imports". An import that also follows from other arrows is left out.
    """
    imports = imports_of_rooms(package)
    lines = [f'  {room}["{room}"]' for room in imports]
    for room, imported in imports.items():
        implied = {far for near in imported for far in reachable(imports, near)}
        lines += [f"  {room} --> {near}" for near in sorted(imported - implied)]
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```"])


def imports_of_rooms(package: str) -> dict[str, set[str]]:
    """Return the rooms of a package (folders and modules), each with the rooms that it imports."""
    graph = import_graph()
    rooms = sorted(graph.find_children(package))
    return {
        importer.rpartition(".")[2]: {
            imported.rpartition(".")[2]
            for imported in rooms
            if imported != importer
            and graph.direct_import_exists(importer=importer, imported=imported, as_packages=True)
        }
        for importer in rooms
    }


@cache
def import_graph() -> grimp.ImportGraph:
    """Return the imports between all modules of the project."""
    return grimp.build_graph(*PACKAGES)


def reachable(imports: Mapping[str, set[str]], start: str) -> set[str]:
    """Return the rooms that a room imports, directly or through others."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = imports[waiting.pop()] - found
        found |= new
        waiting += new
    return found


PARTS: dict[str, Callable[[], str]] = {
    "settings": settings_table,
    **{f"picture of {package}": partial(picture, package) for package in PACKAGES},
    **{f"rooms of {package}": partial(rooms_table, package) for package in PACKAGES},
}


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
