"""`durak audit export`, `report` and `checkpoint` on a database with signed checkpoints."""

from __future__ import annotations

import asyncio

from eventstore import EventStore
from service.checkpoints import signing_keys
from service.checkpoints.checkpointer import Checkpointer
from service.config import Config
from tests.conftest import execute
from tests.domain.audit.audit_matches import random_match
from tests.service.stored_matches import store_match
from tests.terminal import SECONDS, Terminal

NAME = "durak.example/log"


def sign(terminal: Terminal, *seeds: int) -> list[str]:
    """Store matches and sign a checkpoint of all. Returns their ids."""

    async def work() -> list[str]:
        async with await EventStore.open(terminal.database.app_dsn) as store:
            ids = [str(await store_match(store, random_match(seed))) for seed in seeds]
            await Checkpointer(store, Config(data_dir=terminal.folder)).work()
            return ids

    return asyncio.run(work())


def test_an_export_is_verified_with_the_public_key(terminal: Terminal) -> None:
    assert terminal.durak("key", "new", NAME).returncode == 0
    [match_id, _] = sign(terminal, 1, 2)
    file, key = terminal.folder / "match", terminal.folder / "key"
    key.write_text(terminal.durak("key", "public").stdout)
    file.touch(mode=0o644)  # the mode of a file that is there before does not stay
    done = terminal.durak("audit", "export", match_id, "-o", str(file))
    assert (done.returncode, done.stdout) == (0, "")
    assert file.stat().st_mode & 0o777 == 0o600
    done = terminal.durak("verify", str(file), "--key", str(key))
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("PROVEN: ")

    page = terminal.folder / "page.html"
    arguments = ("audit", "report", "--transcript", str(file), "--key", str(key))
    assert terminal.durak(*arguments, "-o", str(page)).returncode == 0
    assert page.stat().st_mode & 0o777 == 0o600
    from_file = page.read_text("utf-8")
    assert "Proven: no fault" in from_file
    assert terminal.durak("audit", "report", match_id).stdout == from_file  # its own key
    russian = terminal.durak("audit", "report", match_id, "--language", "ru").stdout
    assert "Доказано" in russian


def test_a_missing_match_and_a_wrong_file_cannot_be_drawn_or_exported(terminal: Terminal) -> None:
    missing = "00000000-0000-8000-8000-000000000000"
    for command in ("export", "report"):
        done = terminal.durak("audit", command, missing)
        assert done.returncode == 1
        assert done.stderr == f"durak: there is no match {missing} in this database\n"
    assert terminal.durak("audit", "report").returncode == 2
    file = terminal.folder / "nonsense"
    file.write_text("nonsense")
    done = terminal.durak("audit", "report", "--transcript", str(file))
    assert done.returncode == 1
    assert done.stderr.startswith("durak: not a transcript: ")


def test_a_file_is_not_written_to_a_terminal(terminal: Terminal) -> None:
    missing = "00000000-0000-8000-8000-000000000000"
    for command in ("export", "report"):
        with terminal.person("audit", command, missing) as somebody:
            somebody.read_to("give a name with -o")
            assert somebody.process.wait(SECONDS) == 2


def test_a_checkpoint_continues_an_older_one_unless_the_tree_is_rewritten(
    terminal: Terminal,
) -> None:
    done = terminal.durak("audit", "checkpoint")
    assert done.returncode == 1
    assert "there is no checkpoint yet" in done.stderr
    key = signing_keys.make(Config(data_dir=terminal.folder).note_key_file, NAME).verifier
    sign(terminal, 1, 2, 3)
    old = terminal.folder / "old"
    printed = terminal.durak("audit", "checkpoint")
    assert printed.returncode == 0, printed.stderr
    old.write_text(printed.stdout)
    assert old.read_text().splitlines()[:2] == [NAME, "4"]
    sign(terminal, 4, 5)
    check = ("audit", "checkpoint", "--since", str(old), "--key", str(key))
    done = terminal.durak(*check)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == [NAME, "6"]

    other = signing_keys.NoteKey.generate(NAME).verifier
    assert terminal.durak(*check[:-1], str(other)).returncode == 1
    assert terminal.durak(*check[:-1], str(other), "--key", str(key)).returncode == 0
    asyncio.run(
        execute(
            terminal.database.owner_dsn,
            "ALTER TABLE tree_nodes DISABLE TRIGGER USER",
            "UPDATE tree_nodes SET hash = sha256(hash) WHERE level = 1 AND node_index = 2",
        )
    )
    done = terminal.durak(*check)
    assert done.returncode == 1
    assert done.stderr == "durak: the newest checkpoint does not continue the older one\n"
