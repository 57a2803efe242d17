"""Run the command line like a user, on the database of the test."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from service.cli.main import main
from tests.conftest import Database

# Handle Ctrl-C as at a terminal: a background process and its children ignore it by default.
SCRIPT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from service.cli.main import main
main()
"""
COMMAND = (sys.executable, "-c", SCRIPT)
SECONDS = 60


def durak(
    *arguments: str, environment: Mapping[str, str | None]
) -> subprocess.CompletedProcess[str]:
    """Run a command without input until it ends. A variable with the value None is not set.

    It runs in this process, because most commands take less time than the start of a process.
    """
    with (
        pytest.MonkeyPatch.context() as patch,
        CliRunner(env=environment).isolation() as (stdout, stderr, _),
    ):
        patch.setattr(sys, "argv", ["durak", *arguments])
        patch.delenv("GRPC_VERBOSITY", raising=False)  # some commands set it for their process
        with pytest.raises(SystemExit) as ended:
            main()
    code = ended.value.code or 0
    assert isinstance(code, int)
    written, complained = (stream.getvalue().decode() for stream in (stdout, stderr))
    return subprocess.CompletedProcess(arguments, code, written, complained)


@dataclass(frozen=True)
class Terminal:
    """Runs `durak` with a database and a data folder."""

    database: Database
    folder: Path

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        return {
            **os.environ,
            "DURAK_DATABASE_URL": self.database.app_dsn,
            "DURAK_DATA_DIR": str(self.folder),
            "DURAK_OPENING_FREE_MATCHES_MIN": "0",
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": "",
            **(more or {}),
        }

    def durak(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command until it ends, with the function `durak`."""
        return durak(*arguments, environment=self.environment())

    def converse(self, *arguments: str, answers: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command until it ends in a new process, for commands with input or a server.

        `answers` is its standard input.
        """
        return subprocess.run(
            [*COMMAND, *arguments],
            input=answers,
            capture_output=True,
            text=True,
            env=self.environment(),
            timeout=SECONDS,
            check=False,
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command with all its output on one pipe."""
        return subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment(),
        )

    @contextmanager
    def person(self, *arguments: str, **variables: str) -> Iterator[Person]:
        """Start a command at a new terminal. Kill it at the end if it still runs."""
        outer, inner = pty.openpty()
        process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env=self.environment({"TERM": "dumb", **variables}),
        )
        os.close(inner)
        try:
            yield Person(process, outer)
        finally:
            process.kill()
            process.wait()
            os.close(outer)

    @contextmanager
    def serving(self, port: int = 0) -> Iterator[Server]:
        """Start a server. Kill it at the end if it still runs."""
        process = self.start("serve", "--port", str(port))
        try:
            lines = wait_for(process, r"durak listens on \S+:\d+")
            yield Server(process, lines[-1].split()[-1])
        finally:
            kill(process)


@dataclass
class Person:
    """A user at a terminal, and the output shown so far."""

    process: subprocess.Popen[bytes]
    outer: int
    shown: str = ""

    def read_to(self, text: str) -> None:
        """Read output until a text is shown."""
        while text not in self.shown:
            self.shown += os.read(self.outer, 4096).decode()

    def type(self, answer: str) -> None:
        """Type a line."""
        os.write(self.outer, f"{answer}\n".encode())

    def read_to_the_end(self) -> str:
        """Return all output until the command ends."""
        with suppress(OSError):  # Linux raises it when the other end is closed
            while more := os.read(self.outer, 4096):
                self.shown += more.decode()
        assert self.process.wait(SECONDS) == 0
        return self.shown


@dataclass(frozen=True)
class Server:
    """A running server."""

    process: subprocess.Popen[str]
    address: str

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])


def wait_for(process: subprocess.Popen[str], pattern: str) -> list[str]:
    """Return the output lines of a process up to the first that matches."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if re.search(pattern, line):
            return lines
    raise AssertionError(f"{pattern!r} never came:\n" + "\n".join(lines))


def interrupt(process: subprocess.Popen[str]) -> str:
    """Press Ctrl-C. Return the output of the process until it ends."""
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=SECONDS)
    return output


def kill(process: subprocess.Popen[str]) -> None:
    """Kill a process with SIGKILL."""
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.wait()
