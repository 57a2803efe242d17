"""Output that fits the terminal."""

import os
import subprocess
from pathlib import Path

import pytest

from service.cli.terminal import wrap_fields
from tests.terminal import COMMAND


@pytest.mark.parametrize(
    ("width", "rows"),
    [
        (80, ["Bout 1: Anna attacks Boris · hands Anna 6, Boris 6 · stock 18"]),
        (55, ["Bout 1: Anna attacks Boris · hands Anna 6, Boris 6", "  stock 18"]),
        (40, ["Bout 1: Anna attacks Boris", "  hands Anna 6, Boris 6 · stock 18"]),
        (20, ["Bout 1: Anna attacks", "  Boris", "  hands Anna 6,", "  Boris 6 · stock 18"]),
    ],
)
def test_fields_are_broken_between_each_other_before_they_are_broken_themselves(
    width: int, rows: list[str]
) -> None:
    fields = ["Bout 1: Anna attacks Boris", "hands Anna 6, Boris 6", "stock 18"]
    assert wrap_fields(fields, width) == rows


def test_an_id_is_never_broken() -> None:
    match_id = "00000000-0000-8000-8000-000000000000"
    assert wrap_fields([match_id, "Anna, Boris"], 20, separator="  ") == [
        match_id,
        "  Anna, Boris",
    ]


@pytest.mark.parametrize("encoding", ["latin-1", "koi8-r", "cp1252"])
def test_O21_an_encoding_without_suits_shows_letters(encoding: str) -> None:
    example = Path(__file__).resolve().parents[3] / "docs" / "examples" / "tricky.transcript"
    done = subprocess.run(
        [*COMMAND, "verify", str(example)],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    shown = done.stdout.decode(encoding)
    assert "seat 0: Ac (R5.1)" in shown
    assert "?" not in shown
    assert done.stderr == b""
