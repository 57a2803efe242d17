"""Rules of the project that no linter checks: layout, file sizes, sleeps in tests, settings."""

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

from service.config import Config

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("domain", "eventstore", "service")
MAIN_TARGETS = {"serve", "demo", "test", "lint", "proto", "bench"}
FILE_LINES_MAX = 500


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def sleeps(source: str) -> Iterator[int]:
    """Yield the lines of calls that sleep, except in a loop that tests a condition."""
    tree = ast.parse(source)
    polling = {
        inner
        for loop in ast.walk(tree)
        if isinstance(loop, ast.While) and not isinstance(loop.test, ast.Constant)
        for inner in ast.walk(loop)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or node in polling:
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        if name == "sleep" and [ast.unparse(argument) for argument in node.args] != ["0"]:
            yield node.lineno


def imports(parts: int) -> dict[str, set[str]]:
    """Return what each module imports, by the first `parts` parts of the names.

    Imports under TYPE_CHECKING count too.
    """
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    found: dict[str, set[str]] = {}
    for module in graph.modules:
        importer = ".".join(module.split(".")[:parts])
        imported = graph.find_modules_directly_imported_by(module)
        names = {".".join(name.split(".")[:parts]) for name in imported}
        found.setdefault(importer, set()).update(names - {importer})
    return found


@pytest.mark.parametrize("parts", [2, 9], ids=["folders", "modules"])
def test_there_is_no_import_cycle(parts: int) -> None:
    TopologicalSorter(imports(parts)).prepare()  # raises CycleError, which names the cycle


def test_every_folder_of_tests_mirrors_a_folder_of_the_code() -> None:
    folders = {path.parent.relative_to(ROOT / "tests") for path in python_files("tests")}
    mirrors = {folder for folder in folders if folder.parts and folder.parts[0] in PACKAGES}
    others = {folder.parts[0] for folder in folders - mirrors if folder.parts}
    assert others <= {"bench", "compiled", "deploy", "e2e"}
    assert [str(folder) for folder in mirrors if not (ROOT / folder).is_dir()] == []


def test_make_has_the_main_targets() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)) >= MAIN_TARGETS


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("async def f(): time.sleep(1)", [1]),
        ("async def f(): await asyncio.sleep(delay)", [1]),
        ("while True:\n    sleep(1)", [2]),
        ("while not done():\n    sleep(0.01)", []),
        ("async def f(): await asyncio.sleep(0)", []),
    ],
)
def test_a_sleep_without_a_condition_is_found(source: str, lines: list[int]) -> None:
    assert list(sleeps(source)) == lines


def test_no_test_sleeps_without_a_condition() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in python_files("tests")
        for line in sleeps(path.read_text())
    ]
    assert found == []


def test_no_file_is_too_long() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for path in python_files(*PACKAGES, "tests")
    }
    assert {path: lines for path, lines in lengths.items() if lines > FILE_LINES_MAX} == {}


def test_settings_in_deploy_exist() -> None:
    known = {f"DURAK_{name.upper()}" for name in Config.model_fields}
    used = {
        name
        for path in (ROOT / "deploy").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
        for name in re.findall(r"\bDURAK_[A-Z_]+\b", path.read_text())
    }
    assert "DURAK_DATABASE_URL" in used
    assert used <= known


def test_makefile_and_image_use_the_same_uv() -> None:
    makefile = re.findall(r"^UV_VERSION := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    image = re.findall(r"uv==(\S+)", (ROOT / "deploy/Dockerfile").read_text())
    assert makefile == image != []
