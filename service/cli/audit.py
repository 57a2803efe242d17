"""`durak audit`: judges what stands in the database, by the second implementation of the rules.

It reads the database itself, past all roles, and shows every hand: for operators and auditors.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final
from uuid import UUID

import click

from domain.audit import Severity
from eventstore import EventStore, LedgerCheck, WholeMatch
from service.auditing import Auditors, judge
from service.cli.database import opened_store
from service.cli.verify import cheat_line
from service.config import Config

EXIT_FAULTS: Final = 1

DATA_DIR: Final = click.option(
    "--data-dir", type=click.Path(path_type=Path), help="Data of the embedded Postgres."
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
        raise click.ClickException(f"there is no match {match_id} in this database")
    return match


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
