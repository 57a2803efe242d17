"""Exit codes of `durak`, and the error that ends a command."""

from typing import IO, Any, Final

import click

EXIT_FAILED: Final = 1
"""The service refused, the command failed, or an audit found faults."""
EXIT_MISUSED: Final = 2
"""The command line or a setting is wrong."""
EXIT_UNREACHABLE: Final = 3
"""The service or the database cannot be reached."""
EXIT_UNPROVEN: Final = 4
"""`durak verify` found no fault and no proof."""
EXIT_INTERRUPTED: Final = 130
"""Ctrl-C."""


class CommandError(click.ClickException):
    """A command failed with a message for the user."""

    exit_code = EXIT_FAILED

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message on standard error."""
        click.echo(f"durak: {self.format_message()}", file=file, err=True)
