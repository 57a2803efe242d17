"""No byte of an example file can be changed: `DURAK_TEST_EXAMPLE_BYTES=1` tries all of them."""

import os
from pathlib import Path
from random import Random

import pytest

from domain.audit.transcript import Outcome, verify

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
KEY = (EXAMPLES / "key").read_text("utf-8").strip()
STEP = 1 if os.environ.get("DURAK_TEST_EXAMPLE_BYTES") else 211
FILES = sorted(EXAMPLES.glob("*.transcript"))


def test_there_are_examples() -> None:
    assert [file.stem for file in FILES] == ["staked", "tricky-forged", "tricky"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.timeout(3600)  # with every byte
def test_every_changed_byte_of_an_example_is_found(file: Path) -> None:
    data, random = file.read_bytes(), Random(7)
    for at in range(0, len(data), STEP):
        other = data[:at] + bytes((data[at] ^ random.randint(1, 255),)) + data[at + 1 :]
        found = verify(other, KEY)
        assert found.outcome is Outcome.REFUTED, at
        assert found.findings
        assert all(str(finding) for finding in found.findings)
