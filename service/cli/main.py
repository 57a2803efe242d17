"""The command line `durak`.

Exit codes: 0 all is well; 1 it was refused or has failed; 2 the command was written wrongly;
3 the server or the database cannot be reached; 4 `durak verify` found no fault and no proof;
130 a person has left with Ctrl-C.
"""

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

import click

COMMANDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "arena": ("service.cli.arena:arena", "Let bots of two levels play each other, and count."),
        "audit": ("service.cli.audit:audit_command", "Judge matches, show them open, prove them."),
        "coins": ("service.cli.coins:coins_command", "Tell your coins, and the latest transfers."),
        "demo": (
            "service.cli.demo:demo",
            "Play a match of four over gRPC, then replay and audit it.",
        ),
        "dispute": (
            "service.cli.dispute:dispute_command",
            "Complain of a match, look at the evidence, rule, decide on corrections.",
        ),
        "export": (
            "service.cli.matches:export",
            "Write the stored records of a match as JSON lines.",
        ),
        "grant": ("service.cli.coins:grant_command", "Issue coins to a player, as an operator."),
        "key": (
            "service.cli.key:key_command",
            "Make, rotate and show the keys that checkpoints are signed with.",
        ),
        "matches": (
            "service.cli.matches:matches",
            "List the matches of the database, newest first.",
        ),
        "migrate": (
            "service.cli.serve:migrate_command",
            "Bring the database to the newest schema.",
        ),
        "play": ("service.cli.play.command:play", "Play Durak at this terminal."),
        "practice": ("service.cli.practice:practice", "Solve endings."),
        "ratings": (
            "service.cli.standings:ratings_command",
            "List the ratings, the most points first.",
        ),
        "rebuild": (
            "service.cli.rebuild:rebuild",
            "Make lists of matches, series and ratings anew from the log.",
        ),
        "replay": ("service.cli.matches:replay", "Tell a match move by move and bout by bout."),
        "review": (
            "service.cli.review:review_command",
            "Tell which moves of an ending gave the result away.",
        ),
        "rules": ("service.cli.rules:rules", "Show the rules of a table."),
        "series": ("service.cli.standings:series_command", "Tell how a series stands."),
        "serve": ("service.cli.serve:serve", "Run the service until Ctrl-C or SIGTERM."),
        "show": ("service.cli.matches:show", "Show the table of a match at any version."),
        "token": ("service.cli.tokens:token_command", "Print a token of the development key."),
        "verify": ("service.cli.verify:verify_command", "Check a transcript, offline."),
    }
)
"""Where each command is, and what it is for. All take a second to import, and a call needs one."""


class Commands(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, if there is one."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What each command is for, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, purpose) for name, (_, purpose) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="durak")
def durak() -> None:
    """Durak (дурак): a match service you can check.

    Start with `durak demo`; `durak serve` runs the service for your client.
    Settings are environment variables DURAK_…; docs/operator.md lists them.
    """


def main() -> None:
    """Run the command line, and turn foreseeable faults into one sentence and an exit code."""
    if sys.argv[1:2] != ["serve"]:  # what gRPC logs of itself is for operators
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        durak.main(prog_name="durak")
    except Exception as error:
        explained = import_module("service.cli.errors").explain_error(error)
        if explained is None:
            raise
        sentences, code = explained
        for sentence in sentences:
            click.echo(f"durak: {sentence}", err=True)
        _flush()
        sys.exit(code)


def _flush() -> None:
    """Write what is left, or let go of it: Python would say itself that there is no room for it."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
