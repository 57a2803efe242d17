"""Checks of the house itself: that its parts agree with each other and with its rules.

What a tool can check (style, types, imports, the contract) is in `make lint`.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.config import Config

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("domain", "eventstore", "service")
FRONT_DOOR = {"serve", "demo", "test", "lint", "proto", "bench"}
LONGEST_FILE_LINES = 500


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def naps(source: str) -> Iterator[int]:
    """Yields the lines of sleeps that hope: all but those in a loop that asks for a condition."""
    tree = ast.parse(source)
    asking = {
        inner
        for loop in ast.walk(tree)
        if isinstance(loop, ast.While) and not isinstance(loop.test, ast.Constant)
        for inner in ast.walk(loop)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or node in asking:
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        if name == "sleep" and [ast.unparse(argument) for argument in node.args] != ["0"]:
            yield node.lineno


def test_every_folder_of_tests_mirrors_a_folder_of_the_code() -> None:
    folders = {path.parent.relative_to(ROOT / "tests") for path in python_files("tests")}
    mirrors = {folder for folder in folders if folder.parts and folder.parts[0] in PACKAGES}
    others = {folder.parts[0] for folder in folders - mirrors if folder.parts}
    assert others <= {"bench", "deploy", "e2e"}
    assert [str(folder) for folder in mirrors if not (ROOT / folder).is_dir()] == []


def test_the_front_door_is_whole() -> None:
    assert make_targets() >= FRONT_DOOR


@pytest.mark.parametrize("text", ["README.md", "CHANGELOG.md", ".ci/run"])
def test_make_commands_that_are_written_down_exist(text: str) -> None:
    named = set(re.findall(r"^\s*(?:\$ )?make ([a-z-]+)", (ROOT / text).read_text(), re.MULTILINE))
    named |= set(re.findall(r"`make ([a-z-]+)", (ROOT / text).read_text()))
    assert named <= make_targets()


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
def test_a_sleep_that_hopes_is_seen(source: str, lines: list[int]) -> None:
    assert list(naps(source)) == lines


def test_no_test_sleeps_and_hopes() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in python_files("tests")
        for line in naps(path.read_text())
    ]
    assert found == []


def test_files_can_be_read_in_a_sitting() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for path in python_files(*PACKAGES, "tests")
    }
    assert {path: n for path, n in lengths.items() if n > LONGEST_FILE_LINES} == {}


def test_settings_that_deploy_uses_exist() -> None:
    known = {f"DURAK_{name.upper()}" for name in Config.model_fields}
    used = {
        name
        for path in (ROOT / "deploy").rglob("*")
        if path.is_file()
        for name in re.findall(r"\bDURAK_[A-Z_]+\b", path.read_text())
    }
    assert "DURAK_DATABASE_URL" in used
    assert used <= known


def test_uv_is_pinned_once() -> None:
    makefile = re.findall(r"^UV_VERSION := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    image = re.findall(r"uv==(\S+)", (ROOT / "deploy/Dockerfile").read_text())
    assert makefile == image != []


def test_decisions_are_numbered_without_gaps_and_have_their_three_parts() -> None:
    records = sorted((ROOT / "docs/adr").glob("*.md"))
    assert [int(path.name[:4]) for path in records] == list(range(1, len(records) + 1))
    for path in records:
        headings = re.findall(r"^## (.+)$", path.read_text(), re.MULTILINE)
        assert headings[:3] == ["Context", "Decision", "Consequences"], path.name
