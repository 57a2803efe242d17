"""`durak verify`: verify a transcript offline, with only the file and a public key."""

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
from service.cli.exits import EXIT_FAILED, EXIT_UNPROVEN

_EXITS: Final = {
    Outcome.PROVEN: 0,
    Outcome.REFUTED: EXIT_FAILED,
    Outcome.CONSISTENT: EXIT_UNPROVEN,
}
_MEANINGS: Final = {
    Outcome.PROVEN: "no faults, and the service has signed every byte of the records",
    Outcome.REFUTED: "there are faults",
    Outcome.CONSISTENT: "no faults, but the records are not proven",
}


@click.command("verify")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--key",
    metavar="KEY|FILE",
    envvar="DURAK_VERIFIER_KEY",
    help="Public key of the service (name+id+base64), or a file with it.  "
    "[env var: DURAK_VERIFIER_KEY]",
)
def verify_command(file: BinaryIO, key: str | None) -> None:
    """Verify the transcript FILE offline; - reads standard input.

    Get the public key from the service's operator, not from the sender of the file. On the service
    itself, `durak key public` prints it.

    Exit codes: 0 proven; 1 faults found; 4 no faults, but not proven without a key or checkpoint.
    """
    found = verify(file.read(), None if key is None else read_key(key))
    for line in verification_lines(found):
        click.echo(line)
    sys.exit(_EXITS[found.outcome])


def read_key(key: str) -> str:
    """Return a public key, given itself or as the first line of a file.

    Raises click.BadParameter.
    """
    try:
        path = Path(key)
        text = path.read_text("utf-8") if path.is_file() else key
        return str(VerifierKey.parse(text.split("\n", 1)[0]))
    except (NoteError, OSError, ValueError) as error:
        raise click.BadParameter(f"neither a public key nor a file with one: {error}") from error


def verification_lines(found: Verification) -> list[str]:
    """Return a verification in lines: outcome, match, proven facts, unproven facts, findings."""
    lines = [f"{found.outcome.upper()}: {_MEANINGS[found.outcome]}"]
    if found.report is not None:
        facts = found.report.facts
        lines.append(f"match {_match_name(facts.match_id)}, {facts.head_version} records")
    lines += _listed("Proven:", found.proven)
    lines += _listed("Not proven:", found.not_proven)
    lines += _listed("Findings:", map(str, found.findings))
    if found.report is not None:
        lines += _listed(
            "Illegal plays (allowed at this table):", map(_cheat_line, found.report.cheats)
        )
    return lines


def _match_name(match_id: bytes) -> str:
    return str(UUID(bytes=match_id)) if len(match_id) == 16 else match_id.hex()


def _cheat_line(cheat: Cheat) -> str:
    """Return an illegal play at a tricky table in one line."""
    caught = f"caught at version {cheat.caught_by}" if cheat.caught_by else "not caught"
    card = card_name(cast("Card", cheat.card))
    return f"version {cheat.version}, seat {cheat.seat}: {card} ({cheat.clause}), {caught}"


def _listed(heading: str, lines: Iterable[str]) -> list[str]:
    listed = [f"  - {line}" for line in lines]
    return [heading, *listed] if listed else []
