"""What the command line says where the machine gives it no room or no way: no traceback."""

import subprocess
from pathlib import Path

import pytest

from tests.terminal import COMMAND, SECONDS

FULL = Path("/dev/full")  # a device on which there is never any room


def durak(*arguments: str, into: Path | None = None) -> tuple[int, str]:
    """The exit code and what was said on standard error."""
    with (into or Path("/dev/null")).open("w") as output:
        done = subprocess.run(
            [*COMMAND, *arguments],
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    return done.returncode, done.stderr


@pytest.mark.parametrize("command", ["audit", "dispute", "key", "rules", "verify"])
def test_a_command_starts_by_itself_and_says_nothing_beside_its_help(command: str) -> None:
    """In a process of its own, where nothing has been imported before. Others start all over."""
    assert durak(command, "--help") == (0, "")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is full")
def test_a_disk_that_is_full_is_one_sentence(tmp_path: Path) -> None:
    key = tmp_path / "key"
    assert durak("key", "new", "durak.example/log", "--file", str(key)) == (0, "")
    assert durak("key", "public", "--file", str(key), into=FULL) == (
        1,
        "durak: cannot write the output: No space left on device\n",
    )


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    folder = in_the_way / "data"
    code, said = durak("token", "anna", "--data-dir", str(folder))
    assert (code, said) == (1, f"durak: {folder}: Not a directory\n")
