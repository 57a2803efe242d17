"""The entry point of the command line `durak`.

`service.cli.exits` lists the exit codes.
"""

import codecs
import os
import sys
from collections.abc import Mapping
from importlib import import_module, metadata
from io import TextIOWrapper
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import click

from service.cli.exits import EXIT_FAILED, EXIT_INTERRUPTED

TRACEBACK_VARIABLE: Final = "DURAK_TRACEBACK"


class Entry(NamedTuple):
    """A command: the section of the help, `module:attribute`, and its summary."""

    section: str
    target: str
    summary: str


_PLAY: Final = "Play"
_RUN: Final = "Run a service"
_AUDIT: Final = "Inspect and audit matches"
COMMANDS: Final[Mapping[str, Entry]] = MappingProxyType(
    {
        "play": Entry(_PLAY, "service.cli.play.command:play", "Play Durak in this terminal"),
        "practice": Entry(_PLAY, "service.cli.practice:practice", "Solve endgame puzzles"),
        "rules": Entry(_PLAY, "service.cli.rules:rules", "Show the rules of a table"),
        "review": Entry(
            _PLAY,
            "service.cli.review:review_command",
            "Show which endgame moves gave a better result away",
        ),
        "remove": Entry(
            _PLAY, "service.cli.remove:remove_command", "Remove a player from your table"
        ),
        "feed": Entry(_PLAY, "service.cli.feed:feed_command", "Print all that concerns you"),
        "coins": Entry(
            _PLAY, "service.cli.coins:coins_command", "Show your coins and latest transfers"
        ),
        "ratings": Entry(_PLAY, "service.cli.standings:ratings_command", "List player ratings"),
        "series": Entry(
            _PLAY, "service.cli.standings:series_command", "Show the score of a series of matches"
        ),
        "demo": Entry(
            _RUN, "service.cli.demo:demo", "Play a match of four, then replay and audit it"
        ),
        "serve": Entry(_RUN, "service.cli.serve:serve", "Run the service"),
        "health": Entry(
            _RUN, "service.cli.health:health_command", "Ask whether a service takes calls"
        ),
        "migrate": Entry(
            _RUN, "service.cli.serve:migrate_command", "Update the database to the newest schema"
        ),
        "doctor": Entry(
            _RUN, "service.cli.doctor:doctor_command", "Check all that the service needs"
        ),
        "rebuild": Entry(
            _RUN, "service.cli.rebuild:rebuild", "Rebuild match lists, series and ratings"
        ),
        "token": Entry(_RUN, "service.cli.tokens:token_command", "Print a token for development"),
        "grant": Entry(_RUN, "service.cli.coins:grant_command", "Grant coins to a player"),
        "key": Entry(_RUN, "service.cli.key:key_command", "Manage the keys that sign checkpoints"),
        "arena": Entry(_RUN, "service.cli.arena:arena", "Compare two bot levels over many matches"),
        "matches": Entry(_AUDIT, "service.cli.matches:matches", "List matches, newest first"),
        "show": Entry(
            _AUDIT, "service.cli.matches:show", "Show the table of a match at any version"
        ),
        "replay": Entry(_AUDIT, "service.cli.matches:replay", "Print a match move by move"),
        "export": Entry(
            _AUDIT, "service.cli.matches:export", "Print the stored records of a match as JSON"
        ),
        "audit": Entry(
            _AUDIT, "service.cli.audit:audit_command", "Check matches, payouts and checkpoints"
        ),
        "verify": Entry(
            _AUDIT, "service.cli.verify:verify_command", "Verify a transcript file offline"
        ),
        "check-deal": Entry(
            _AUDIT,
            "service.cli.check_deal:check_deal_command",
            "Check the deal of a match with your secret",
        ),
        "dispute": Entry(
            _AUDIT, "service.cli.dispute:dispute_command", "Open, review and decide disputes"
        ),
        "admin": Entry(
            _AUDIT, "service.cli.admin:admin_command", "List acts of operators and auditors"
        ),
    }
)
"""All commands, in the order of the help. Importing them all takes a second."""


class Commands(click.Group):
    """A group that imports a command only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].target.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the summaries by section, without importing the commands."""
        for section in (_PLAY, _RUN, _AUDIT):
            rows = [(name, it.summary) for name, it in COMMANDS.items() if it.section == section]
            with formatter.section(section):
                formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as click has it
        """Run the command. Ctrl-C ends it with an exit code and no message."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            ctx.exit(EXIT_INTERRUPTED)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _, asked: _show_version(ctx) if asked else None,
    help="Show the version, and whether the core is compiled.",
)
def durak() -> None:
    """Play Durak (дурак), run the match service, and audit its matches.

    Start with `durak demo`, or run `durak serve` and, in another terminal, `durak play`.

    Settings of the service are environment variables DURAK_…, listed in docs/operator.md.

    Exit codes: 0 success; 1 refused or failed; 2 wrong usage or setting; 3 service or database
    unreachable; 4 nothing wrong but unproven (verify); 130 Ctrl-C.
    """


def _show_version(ctx: click.Context) -> None:
    """Print the version and the form of the core."""
    form = import_module("service.core").core_form()
    click.echo(f"durak {metadata.version('durak')} ({form} core)")
    ctx.exit()


def main() -> None:
    """Run the command line. Expected errors become messages and an exit code."""
    _repair_streams()
    if sys.argv[1:2] != ["serve"]:  # logs of gRPC are for operators
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        durak.main(prog_name="durak")
    except Exception as error:
        explained = import_module("service.cli.errors").explain_error(error)
        if explained is None and _wants_traceback():
            raise
        messages, code = explained or _unexpected(error)
        for message in messages:
            click.echo(f"durak: {message}", err=True)
        _flush()
        sys.exit(code)


def _repair_streams() -> None:
    """Replace closed standard streams, and characters that the output encoding does not have."""
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open()  # noqa: SIM115 - open until the process ends
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - as above
        elif isinstance(stream, TextIOWrapper):
            codecs.register_error("durak", _spell)
            stream.reconfigure(errors="durak")


_SPELLINGS: Final = MappingProxyType(
    {
        "♣": "c",
        "♦": "d",
        "♥": "h",
        "♠": "s",
        "▮": "#",
        "│": "|",
        "•": "*",
        "“": '"',
        "”": '"',
        "·": "-",
        "…": "...",
        "→": "->",
        "←": "<-",
        "–": "-",
        "±": "+-",
    }
)
"""How to write the characters of the output where the encoding lacks them. Cards must stay legible:
their letters are those that `durak play` reads."""


def _spell(error: UnicodeError) -> tuple[str, int]:
    """Spell characters that an encoding lacks. Python calls it for each run of them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_SPELLINGS.get(character, "?") for character in lacking), error.end


def _wants_traceback() -> bool:
    return sys.argv[1:2] == ["serve"] or bool(os.environ.get(TRACEBACK_VARIABLE))


def _unexpected(error: Exception) -> tuple[list[str], int]:
    messages = [
        f"unexpected error: {type(error).__name__}: {error}",
        f"this is a bug in durak; set {TRACEBACK_VARIABLE}=1 for a traceback",
    ]
    return messages, EXIT_FAILED


def _flush() -> None:
    """Write buffered output, or drop it: Python reports a full disk at exit by itself."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
