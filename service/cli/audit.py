"""`durak audit`: judges what stands in the database, by the second implementation of the rules.

It reads the database itself, past all roles, and shows every hand: for operators and auditors.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, TextIO
from uuid import UUID

import click

from domain import checkpoint, merkle
from domain.audit import Severity
from domain.checkpoint import Checkpoint, NoteError, VerifierKey
from eventstore import EventStore, LedgerCheck, WholeMatch
from service import note_keys, transcripts, tree
from service.auditing import Auditors, judge
from service.cli.database import opened_store
from service.cli.verify import cheat_line, read_key
from service.config import Config
from service.localisation import LANGUAGES
from service.note_keys import NoteKeyError
from service.report.page import NoTranscriptError, report

EXIT_FAULTS: Final = 1

DATA_DIR: Final = click.option(
    "--data-dir", type=click.Path(path_type=Path), help="Data of the embedded Postgres."
)
_OUTPUT: Final = click.option(
    "-o",
    "--output",
    type=click.File("wb"),
    default="-",
    help="The file. [default: standard output]",
)


class AuditGroup(click.Group):
    """The commands of `durak audit`; what is none of them is the match to audit."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `match` before arguments that name no command."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["match", *args]
        return super().parse_args(ctx, args)


@click.group("audit", cls=AuditGroup)
def audit_command() -> None:
    """Judge matches of the database: `durak audit MATCH`, `durak audit --all`.

    Other commands make a transcript or a page of a match, and show checkpoints.

    Exit code 0: no fault. 1: there are faults, each on a line.
    """


@audit_command.command("match")
@click.argument("match_id", metavar="MATCH", type=click.UUID, required=False)
@click.option("--all", "all_matches", is_flag=True, help="Every match, and the whole ledger.")
@click.option("--processes", type=click.IntRange(1, 64), help="[default: one for each core]")
@DATA_DIR
def match_command(
    match_id: UUID | None, *, all_matches: bool, processes: int | None, data_dir: Path | None
) -> None:
    """Judge MATCH, with notes of what is allowed but worth seeing; or all, faults only."""
    if all_matches == (match_id is not None):
        raise click.UsageError("name a match, or --all")
    config = config_of(data_dir)
    if match_id is None:
        faults = asyncio.run(_audit_all(config, processes or os.cpu_count() or 1))
    else:
        faults = _told_one(asyncio.run(read_match(config, match_id)))
    sys.exit(EXIT_FAULTS if faults else 0)


def config_of(data_dir: Path | None) -> Config:
    """The settings, with the data folder of the command line if there is one."""
    return Config() if data_dir is None else Config(data_dir=data_dir)


async def read_match(config: Config, match_id: UUID) -> WholeMatch:
    """A match of the database. Raises click.ClickException where there is none."""
    async with opened_store(config) as store:
        [match] = await store.archive.read([match_id])
    if not match.records:
        raise _missing(match_id)
    return match


def _missing(match_id: UUID) -> click.ClickException:
    return click.ClickException(f"there is no match {match_id} in this database")


def _told_one(match: WholeMatch) -> bool:
    report = judge(match).report
    facts = report.facts
    verdict = "no fault" if report.ok else "FAULTS"
    state = "ended" if facts.is_ended else "running"
    click.echo(f"{match.match_id}: {verdict}; {state}, {facts.head_version} records")
    for finding in report.findings:
        click.echo(f"  {finding}")
    for cheat in report.cheats:
        click.echo(f"  illegal play, allowed at this table: {cheat_line(cheat)}")
    return not report.ok


@audit_command.command("export")
@click.argument("match_id", metavar="MATCH", type=click.UUID)
@_OUTPUT
@DATA_DIR
def export_command(match_id: UUID, output: BinaryIO, data_dir: Path | None) -> None:
    """Write the transcript of MATCH: one file that `durak verify` checks anywhere."""
    output.write(asyncio.run(_exported(config_of(data_dir), match_id)))


async def _exported(config: Config, match_id: UUID) -> bytes:
    async with opened_store(config) as store:
        [match] = await store.archive.read([match_id])
        if not match.records:
            raise _missing(match_id)
        return await transcripts.export(match, store.checkpoints)


@audit_command.command("report")
@click.argument("match_id", metavar="[MATCH]", type=click.UUID, required=False)
@click.option("--transcript", type=click.File("rb"), help="Of this file instead, offline.")
@click.option(
    "--key",
    metavar="KEY|FILE",
    envvar="DURAK_VERIFIER_KEY",
    show_envvar=True,
    help="The service's public key. [default: that of the key file, for a match of the database]",
)
@_OUTPUT
@click.option("--language", type=click.Choice(LANGUAGES), default="en", envvar="DURAK_LANGUAGE")
@DATA_DIR
def report_command(
    *,
    match_id: UUID | None,
    transcript: BinaryIO | None,
    key: str | None,
    output: BinaryIO,
    language: str,
    data_dir: Path | None,
) -> None:
    """Draw a match as one HTML file: the table move by move, and what the audit found.

    It shows every hand: keep it from players while the match runs.
    """
    if (match_id is None) == (transcript is None):
        raise click.UsageError("name a match, or --transcript FILE")
    config = config_of(data_dir)
    public_key = None if key is None else read_key(key)
    if match_id is not None:
        data = asyncio.run(_exported(config, match_id))
        public_key = public_key or _own_key(config)
    else:
        assert transcript is not None
        data = transcript.read()
    try:
        page = report(data, public_key, language)
    except NoTranscriptError as error:
        raise click.ClickException(f"not a transcript: {error}") from error
    output.write(page.encode())


def _own_key(config: Config) -> str | None:
    """The newest public key of the key file, where there is one."""
    try:
        return str(note_keys.read(config.note_key_file)[0].verifier)
    except NoteKeyError:
        return None


@audit_command.command("checkpoint")
@click.option(
    "--since",
    type=click.File("r", encoding="utf-8"),
    help="An older checkpoint, which the newest must continue.",
)
@click.option("--key", metavar="KEY|FILE", envvar="DURAK_VERIFIER_KEY", show_envvar=True)
@DATA_DIR
def checkpoint_command(since: TextIO | None, key: str | None, data_dir: Path | None) -> None:
    """Print the newest signed checkpoint.

    With --since, say whether it continues the older one: every leaf of that is still there,
    unchanged, in its place. With a key, both must be signed by it.
    """
    public_key = None if key is None else VerifierKey.parse(read_key(key))
    older = None if since is None else since.read()
    try:
        note, grown = asyncio.run(_checkpoint(config_of(data_dir), older, public_key))
    except NoteError as error:
        raise click.ClickException(str(error)) from error
    click.echo(note, nl=False)
    if not grown:
        click.echo("durak: the newest checkpoint does not continue the older one", err=True)
        sys.exit(EXIT_FAULTS)


async def _checkpoint(
    config: Config, older: str | None, key: VerifierKey | None
) -> tuple[str, bool]:
    """The newest checkpoint, and whether it continues the older one. Raises NoteError."""
    async with opened_store(config) as store:
        head = await store.checkpoints.latest()
        if head is None:
            raise click.ClickException("nothing is signed yet: `durak key new` makes a key")
        new = _read_checkpoint(head.note, key)
        if older is None:
            return head.note, True
        old = _read_checkpoint(older, key)
        if old.size > new.size:
            return head.note, False
        nodes = store.checkpoints.nodes
        proof = await tree.consistency_proof(old.size, new.size, nodes)
        return head.note, merkle.verify_consistency(old.size, new.size, proof, old.root, new.root)


def _read_checkpoint(note: str, key: VerifierKey | None) -> Checkpoint:
    if key is not None:
        return checkpoint.verify_checkpoint(note, key)
    return Checkpoint.parse(checkpoint.split(note)[0])


async def _audit_all(config: Config, processes: int) -> bool:
    matches = faulty = 0
    async with opened_store(config) as store:
        async with Auditors(processes) as auditors:
            async for page in auditors.judge_pages(_pages(store)):
                for match_id, report, _ in page:
                    matches += 1
                    faulty += not report.ok
                    for finding in report.findings:
                        if finding.severity is Severity.FAULT:
                            click.echo(f"{match_id}: {finding}")
        ledger = _ledger_lines(await store.ledger.check())
    for line in ledger:
        click.echo(f"ledger: {line}")
    click.echo(f"{matches} matches audited, {faulty} with faults")
    return bool(faulty or ledger)


async def _pages(store: EventStore) -> AsyncIterator[list[WholeMatch]]:
    async for ids in store.archive.all_ids():
        yield await store.archive.read(ids)


def _ledger_lines(check: LedgerCheck) -> Sequence[str]:
    """What does not hold of R12.8, a line each."""
    lines = []
    if check.issued != check.available + check.escrow:
        held = f"{check.available} available and {check.escrow} in escrow"
        lines.append(f"fault (R12.8): {check.issued} coins issued, {held}")
    lines += [
        f"fault (R12.8): the balance of {player} is not the sum of its transfers"
        for player in check.wrong_accounts
    ]
    lines += [
        f"fault (R12.8): the bank of {match_id} paid out what was not posted to it"
        for match_id in check.wrong_matches
    ]
    return lines
