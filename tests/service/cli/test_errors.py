"""Errors of the machine and of the user: one clear sentence, an exit code, no traceback."""

import subprocess
from pathlib import Path

import pytest

from tests import terminal
from tests.terminal import COMMAND, SECONDS

FULL = Path("/dev/full")  # a device that is always full


def durak(*arguments: str, into: Path | None = None) -> tuple[int, str]:
    """Run a command in a process of its own. Returns the exit code and standard error."""
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
def test_a_command_can_be_imported_first(command: str) -> None:
    """Its imports work in a new process, in any order."""
    assert durak(command, "--help") == (0, "")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has /dev/full")
def test_a_full_disk_gives_one_clear_sentence(tmp_path: Path) -> None:
    key = tmp_path / "key"
    assert durak("key", "new", "durak.example/log", "--file", str(key)) == (0, "")
    assert durak("key", "public", "--file", str(key), into=FULL) == (
        1,
        "durak: cannot write the output: No space left on device\n",
    )


def test_a_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    folder = in_the_way / "data"
    code, said = durak("token", "anna", "--data-dir", str(folder))
    assert (code, said) == (1, f"durak: {folder}: Not a directory\n")


def test_a_folder_without_a_database_is_named(tmp_path: Path) -> None:
    code, said = durak("matches", "--data-dir", str(tmp_path))
    assert code == 1
    assert said.startswith(f"durak: no database in {tmp_path}: ")
    assert not list(tmp_path.iterdir())


def test_closed_streams_are_no_error(tmp_path: Path) -> None:
    key = tmp_path / "key"
    assert durak("key", "new", "durak.example/log", "--file", str(key)) == (0, "")
    script = f'exec "$0" "$@" key public --file {key} <&- >&-'
    done = subprocess.run(
        ["/bin/sh", "-c", script, *COMMAND], stderr=subprocess.PIPE, timeout=SECONDS, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_unexpected_error_has_a_traceback_only_if_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("service.checkpoints.signing_keys.read", fail)
    done = terminal.durak("key", "public", environment={})
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "durak: unexpected error: RuntimeError: a bug",
        "durak: this is a bug in durak; set DURAK_TRACEBACK=1 for a traceback",
    ]
    with pytest.raises(RuntimeError):
        terminal.durak("key", "public", environment={"DURAK_TRACEBACK": "1"})
