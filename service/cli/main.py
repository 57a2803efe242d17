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

COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "arena": "service.cli.arena:arena",
        "audit": "service.cli.audit:audit_command",
        "coins": "service.cli.coins:coins_command",
        "demo": "service.cli.demo:demo",
        "dispute": "service.cli.dispute:dispute_command",
        "export": "service.cli.log:export",
        "grant": "service.cli.coins:grant_command",
        "key": "service.cli.key:key_command",
        "matches": "service.cli.log:matches",
        "migrate": "service.cli.serve:migrate_command",
        "play": "service.cli.play:play",
        "practice": "service.cli.practice:practice",
        "ratings": "service.cli.ratings:ratings_command",
        "rebuild": "service.cli.rebuild:rebuild",
        "replay": "service.cli.log:replay",
        "review": "service.cli.review:review_command",
        "rules": "service.cli.rules:rules",
        "series": "service.cli.ratings:series_command",
        "serve": "service.cli.serve:serve",
        "show": "service.cli.log:show",
        "token": "service.cli.tokens:token_command",
        "verify": "service.cli.verify:verify_command",
    }
)
"""Where each command is. All of them take a second to import, and a call needs one."""


class Commands(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, if there is one."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="durak")
def durak() -> None:
    """Durak (дурак): a match service you can check.

    Start with `durak demo`; `durak serve` runs the service for your client.
    Settings are environment variables DURAK_…; docs/operator.md lists them.
    """


def main() -> None:
    """Run the command line, and turn foreseeable faults into one sentence and an exit code."""
    try:
        durak.main(prog_name="durak")
    except Exception as error:
        explained = import_module("service.cli.faults").explain(error)
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
