"""Output files of commands. They show every hand of a match, so only their owner can read them."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Final

import click

from service.cli.exits import CommandError


def _check_terminal(_: click.Context, __: click.Parameter, path: Path | None) -> Path | None:
    if path is None and sys.stdout.isatty():
        raise click.UsageError("refusing to write a file to the terminal: give a name with -o")
    return path


def _parse(value: str) -> Path | None:
    return None if value == "-" else Path(value)


OUTPUT: Final = click.option(
    "-o",
    "--output",
    type=_parse,
    metavar="FILE",
    default="-",
    callback=_check_terminal,
    help="File to write, with mode 600.  [default: standard output, unless it is a terminal]",
)


def write_output(path: Path | None, content: bytes) -> None:
    """Write a whole file with mode 0600, or standard output for None. Raises CommandError.

    An existing file is replaced in one step, so its mode does not matter.
    """
    if path is None:
        sys.stdout.buffer.write(content)
        return
    try:
        descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(draft).replace(path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from error
