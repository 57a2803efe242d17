"""The docs agree with the code: paths, commands, settings, clauses and generated parts exist."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from domain.match.seating import RULES_VERSION
from service.config import Config

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
PAGES += sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
A_PATH = re.compile(r"[\w.*…<>-]+(?:/[\w.*…<>-]+)*/?")
FILE_SUFFIXES = {".py", ".md", ".proto", ".ftl", ".sql", ".toml", ".yaml", ".mjs", ".tsv"}
OTHER_NAMES = {
    *("too_many_pings", "client_body_timeout", "client_header_timeout"),
    *("request_headers_timeout", "stream_idle_timeout"),
    *("CommonProtos", "DRKTableView", "DurakV1TableView"),
}
"""Names of gRPC, nginx, Envoy and generated code in the docs."""
PROTOBUF_FILES = {"any.proto", "error_details.proto", "timestamp.proto"}
CLAUSE = re.compile(r"\bR\d{1,2}\.\d+\b")


@cache
def tracked() -> frozenset[str]:
    """Return the files of the project and all their folders, relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    files = [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]
    folders = {str(folder) for name in files for folder in Path(name).parents}
    return frozenset(files) | folders


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def quoted(page: str) -> Iterator[str]:
    """Yield the texts in backticks outside code blocks."""
    outside = re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)
    yield from re.findall(r"`([^`\n]+)`", outside)


def paths_in(page: str) -> Iterator[str]:
    """Yield the texts in backticks that are the path of a file or folder of the project."""
    tops = {name for name in tracked() if "/" not in name} - {"."}
    for text in quoted(page):
        if not A_PATH.fullmatch(text):
            continue
        is_inside = "/" in text and text.split("/")[0] in tops
        is_google = text.startswith("google/") or text in PROTOBUF_FILES
        if is_inside or (Path(text).suffix in FILE_SUFFIXES and not is_google):
            yield text


def exists(path: str) -> bool:
    """Return whether a path, or the end of a path, of the project matches.

    `<…>`, `…` and `*` in a path stand for any text.
    """
    pattern = re.sub(r"<[^>]*>|…|\*", "\0", path.rstrip("/"))
    pattern = re.escape(pattern).replace(re.escape("\0"), "[^/]*")
    return any(re.fullmatch(f"(?:.*/)?{pattern}", name) for name in tracked())


@pytest.mark.parametrize("page", PAGES)
def test_files_and_folders_in_the_docs_exist(page: str) -> None:
    named = set(paths_in(text_of(page)))
    assert sorted(path for path in named if not exists(path)) == []


@pytest.mark.parametrize(
    ("path", "is_found"),
    [
        ("domain/match/fold.py", True),
        ("fold.py", True),
        ("match/fold.py", True),
        ("tests/domain/match/test_R….py", True),
        ("service/text/locale/*/errors.ftl", True),
        ("domain/match/folding.py", False),
        ("folding.py", False),
        ("audit/fold.py", False),
    ],
)
def test_a_missing_path_is_found(path: str, is_found: bool) -> None:
    assert list(paths_in(f"see `{path}`")) == [path]
    assert exists(path) == is_found


@pytest.mark.parametrize("page", PAGES)
def test_links_in_the_docs_lead_to_files_and_headings(page: str) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if "://" in target:
            continue
        path, _, heading = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        if not file.exists() or (heading and heading not in headings(file)):
            broken.append(target)
    assert broken == []


def headings(file: Path) -> set[str]:
    """Return the anchors of the headings of a page."""
    found = re.findall(r"^#+ (.+)$", file.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in found}


def test_make_commands_in_the_docs_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE))
    for page in [*PAGES, ".ci/run"]:
        commands = re.findall(r"(?:^\s*(?:\$ )?|`)make ([a-z-]+)", text_of(page), re.MULTILINE)
        assert set(commands) <= targets, page


def test_environment_variables_in_the_docs_are_read_by_the_code() -> None:
    known = {f"DURAK_{name.upper()}" for name in Config.model_fields}
    for name in tracked():
        if name.endswith(".py"):
            known |= set(re.findall(r"[\"'](DURAK_[A-Z0-9_]+)[\"']", text_of(name)))
    for page in PAGES:
        assert set(re.findall(r"\bDURAK_[A-Z0-9_]*[A-Z0-9]\b", text_of(page))) <= known, page


@pytest.mark.parametrize("page", sorted({*PAGES} - {"docs/plain-english.md"}))
def test_names_in_the_docs_exist_in_the_code(page: str) -> None:
    names = {
        name
        for text in quoted(text_of(page))
        if re.fullmatch(r"[\w.]+", text)
        for name in re.findall(r"\b[A-Za-z]\w*", text)
        if re.search(r"[a-z]_?[A-Z]|_", name) and not name.startswith("DURAK_")
    }
    assert sorted(names - words_of_the_code() - OTHER_NAMES) == []


@cache
def words_of_the_code() -> frozenset[str]:
    suffixes = (".py", ".proto", ".sql", ".toml", ".yaml")
    files = [name for name in tracked() if name.endswith(suffixes)]
    return frozenset(word for name in files for word in re.findall(r"\w+", text_of(name)))


def test_generated_parts_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_decisions_are_numbered_without_gaps_and_have_their_three_parts() -> None:
    records = sorted((ROOT / "docs/adr").glob("*.md"))
    assert [int(path.name[:4]) for path in records] == list(range(1, len(records) + 1))
    for path in records:
        parts = re.findall(r"^## (.+)$", path.read_text("utf-8"), re.MULTILINE)
        assert parts[:3] == ["Context", "Decision", "Consequences"], path.name


def test_the_rules_page_has_the_version_of_the_code() -> None:
    assert f"Rules version {RULES_VERSION}." in text_of("docs/rules.md")


def test_every_cited_clause_is_in_the_rules() -> None:
    clauses = set(re.findall(r"^- \*\*(R\d+\.\d+)\*\*", text_of("docs/rules.md"), re.MULTILINE))
    assert len(clauses) > 60
    for name in tracked():
        if name.endswith((".py", ".md", ".proto", ".ftl", ".toml")) and (ROOT / name).is_file():
            assert set(CLAUSE.findall(text_of(name))) <= clauses, name


def test_every_folder_describes_its_content_in_one_sentence() -> None:
    for name in tracked():
        if re.fullmatch(r"(domain|eventstore|service)/.*__init__\.py", name):
            docstring = ast.get_docstring(ast.parse(text_of(name)))
            assert docstring is not None, name
            assert re.fullmatch(r"[^\n]*[^.\n]\.", docstring.splitlines()[0]), name
