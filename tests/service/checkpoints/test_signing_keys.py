"""The file of the signing keys: readable only by its owner, changed by commands."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from domain.transparency.checkpoint import VerifierKey
from service.checkpoints import signing_keys
from service.checkpoints.signing_keys import NoteKey, NoteKeyError
from service.cli.main import durak

NAME = "durak.example/log"


def test_a_key_is_created_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "key"
    key = signing_keys.make(path, NAME)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.line() for one in signing_keys.read(path)] == [key.line()]
    with pytest.raises(NoteKeyError, match="already exists"):
        signing_keys.make(path, NAME)


def test_rotation_adds_the_new_key_first_and_retiring_removes_the_old(tmp_path: Path) -> None:
    path = tmp_path / "key"
    old = signing_keys.make(path, NAME)
    new = signing_keys.rotate(path)
    assert [one.line() for one in signing_keys.read(path)] == [new.line(), old.line()]
    assert new.name == old.name
    assert [one.line() for one in signing_keys.retire(path)] == [old.line()]
    assert [one.line() for one in signing_keys.read(path)] == [new.line()]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["key"]


@pytest.mark.parametrize("name", ["", "two words", "a+b", "line\nbreak"])
def test_an_invalid_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(NoteKeyError):
        signing_keys.make(tmp_path / "key", name)
    assert not (tmp_path / "key").exists()


def test_an_invalid_key_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    good, other = NoteKey.generate(NAME).line(), NoteKey.generate("other").line()
    for text in ("", "nonsense\n", good[:-5], good.replace("+", "-"), f"{good}\n{other}\n"):
        path.write_text(text)
        path.chmod(0o600)
        with pytest.raises(NoteKeyError):
            signing_keys.read(path)
    path.write_text(good)
    path.chmod(0o644)
    with pytest.raises(NoteKeyError, match="other users can read"):
        signing_keys.read(path)
    with pytest.raises(NoteKeyError, match="cannot be read"):
        signing_keys.read(tmp_path / "missing")


def test_the_commands_create_rotate_and_retire_keys(tmp_path: Path) -> None:
    def run(*arguments: str) -> tuple[int, list[str]]:
        options = ["--file", str(tmp_path / "key")]
        done = CliRunner().invoke(durak, ["key", *arguments, *options])
        return done.exit_code, done.output.splitlines()

    code, [first] = run("new", NAME)
    assert code == 0
    assert VerifierKey.parse(first).name == NAME
    code, [second] = run("rotate")
    assert code == 0
    assert run("public") == (0, [second, first])
    assert run("retire") == (0, [first])
    assert run("public") == (0, [second])


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize(("mode", "is_read"), [(0o440, True), (0o400, True), (0o444, False)])
def test_a_mounted_secret_of_another_user_may_be_readable_for_the_group(
    tmp_path: Path, mode: int, is_read: bool
) -> None:
    path = tmp_path / "key"
    key = signing_keys.make(path, NAME)
    os.chown(path, 12_345, 12_345)
    path.chmod(mode)
    if is_read:
        assert [one.line() for one in signing_keys.read(path)] == [key.line()]
    else:
        with pytest.raises(NoteKeyError, match="other users can read"):
            signing_keys.read(path)


def test_the_group_must_not_read_an_own_key(tmp_path: Path) -> None:
    path = tmp_path / "key"
    signing_keys.make(path, NAME)
    path.chmod(0o640)
    with pytest.raises(NoteKeyError, match="other users can read"):
        signing_keys.read(path)
