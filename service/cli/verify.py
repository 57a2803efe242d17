"""`durak verify`: what a transcript proves, with nothing but the file and a public key."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Final, cast
from uuid import UUID

import click

from domain.audit import Cheat
from domain.audit.transcript import Outcome, Verification, verify
from domain.cards import Card, card_name
from domain.transparency.checkpoint import NoteError, VerifierKey

EXIT_REFUTED: Final = 1
EXIT_UNPROVEN: Final = 4

_EXITS: Final = {
    Outcome.PROVEN: 0,
    Outcome.REFUTED: EXIT_REFUTED,
    Outcome.CONSISTENT: EXIT_UNPROVEN,
}
_MEANINGS: Final = {
    Outcome.PROVEN: "no fault, and the service has signed for every byte of the records",
    Outcome.REFUTED: "there are faults",
    Outcome.CONSISTENT: "no fault, but nobody vouches for it",
}


@click.command("verify")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--key",
    metavar="KEY|FILE",
    envvar="DURAK_VERIFIER_KEY",
    show_envvar=True,
    help="The service's public key, name+id+base64, or a file with it.",
)
def verify_command(file: BinaryIO, key: str | None) -> None:
    """Check the transcript FILE (- for standard input), offline.

    Get the public key from somewhere else than the file (`durak key public` shows the service's).
    Exit code 0: proven. 1: there are faults. 4: no fault, but not proven either, for want of a
    key or a checkpoint.
    """
    found = verify(file.read(), None if key is None else read_key(key))
    for line in verification_lines(found):
        click.echo(line)
    sys.exit(_EXITS[found.outcome])


def read_key(key: str) -> str:
    """A public key as given: itself, or the first line of a file that is named."""
    path = Path(key)
    try:
        text = path.read_text("utf-8") if path.is_file() else key
        return str(VerifierKey.parse(text.split("\n", 1)[0]))
    except (NoteError, OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"neither a key nor a file with one: {error}") from error


def verification_lines(found: Verification) -> list[str]:
    """A verification in lines: the outcome, the match, what is proven and what not, findings."""
    lines = [f"{found.outcome.upper()}: {_MEANINGS[found.outcome]}"]
    if found.report is not None:
        facts = found.report.facts
        lines.append(f"match {_match_name(facts.match_id)}, {facts.head_version} records")
    lines += _listed("Proven:", found.proven)
    lines += _listed("Not proven:", found.not_proven)
    lines += _listed("Findings:", map(str, found.findings))
    if found.report is not None:
        lines += _listed(
            "Illegal plays (allowed at this table):", map(cheat_line, found.report.cheats)
        )
    return lines


def _match_name(match_id: bytes) -> str:
    return str(UUID(bytes=match_id)) if len(match_id) == 16 else match_id.hex()


def cheat_line(cheat: Cheat) -> str:
    """An illegal play of a tricky table as one line."""
    caught = f"caught at version {cheat.caught_by}" if cheat.caught_by else "not caught"
    card = card_name(cast("Card", cheat.card))
    return f"version {cheat.version}, seat {cheat.seat}: {card} ({cheat.clause}), {caught}"


def _listed(heading: str, lines: Iterable[str]) -> list[str]:
    listed = [f"  - {line}" for line in lines]
    return [heading, *listed] if listed else []
