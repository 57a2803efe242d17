"""No text of the project uses a word that docs/plain-english.md asks to avoid."""

from __future__ import annotations

import io
import re
import subprocess
import tokenize
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GUIDE = "docs/plain-english.md"
SUFFIXES = {".py", ".md", ".proto", ".ftl", ".yaml", ".sql", ".toml", ".mjs", ".js", ".html", ""}
NO_PROSE = ("_pb2", "docs/examples/", "proto/third_party/", "tests/test_plain_english.py")
ANOTHER_LANGUAGE = re.compile(r"/locale/(?!en/)|/puzzles/")


@cache
def words() -> re.Pattern[str]:
    """Return a pattern of the words in the first column of the table in the guide."""
    table = (ROOT / GUIDE).read_text("utf-8").split("| do not write | write |", 1)[1]
    rows = re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
    phrases = [phrase for row in rows for phrase in re.findall(r"`(.+?)`", row)]
    assert len(phrases) > 40
    # A capital only at the start of a phrase: `is None` is code.
    both_cases = [f"[{phrase[0]}{phrase[0].upper()}]{re.escape(phrase[1:])}" for phrase in phrases]
    return re.compile(rf"(?<![\w.-])(?:{'|'.join(both_cases)})(?![\w-])")


def found_in(prose: str) -> list[str]:
    """Return the words to avoid in a text. A line break counts as a space."""
    return words().findall(re.sub(r"\s+(?:#|//|--)?\s*", " ", prose))


def prose_of(name: str) -> str:
    """Return the text of a file; of Python only comments, strings and names of tests."""
    text = (ROOT / name).read_text("utf-8")
    if not name.endswith(".py"):
        return text
    parts = re.findall(r"def (test_\w+)", text)
    parts = [part.replace("_", " ") for part in parts]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)}
    parts += [token.string for token in tokens if token.type in kinds]
    return "\n".join(parts)


def files_with_prose() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [
        name
        for name in listed
        if (ROOT / name).is_file()
        and Path(name).suffix in SUFFIXES
        and name != GUIDE
        and not any(part in name for part in NO_PROSE)
        and not ANOTHER_LANGUAGE.search(name)
    ]


def test_no_text_uses_a_word_to_avoid() -> None:
    found = {name: found_in(prose_of(name)) for name in files_with_prose()}
    assert {name: sorted(set(avoid)) for name, avoid in found.items() if avoid} == {}


@pytest.mark.parametrize(
    ("text", "avoid"),
    [
        ("The tree is built anew.", ["anew"]),
        ("Whoever holds\n# the card leads.", ["Whoever"]),
        ("It is handed\n    round.", ["handed round"]),
        ("if match is None or value.told:", []),
        ("The standings are counted again.", []),
    ],
)
def test_a_word_to_avoid_is_found(text: str, avoid: list[str]) -> None:
    assert found_in(text) == avoid
