"""`durak audit MATCH`, `durak audit --all` and `durak audit payouts`: verdicts on matches."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import click

from durak.v1 import audit_service_pb2 as api
from eventstore import EventStore
from service.audit.cases import read_cases
from service.audit.ledger_check import ledger_state
from service.checkpoints.seals import Seals
from service.cli.audit.source import Access, with_audit_access
from service.cli.database import open_store
from service.cli.exits import EXIT_FAILED
from service.cli.options import load_config
from service.config import Config
from service.judging.judge import AuditPool, Case
from service.judging.messages import report_message
from service.render.audit import fault_lines, ledger_lines, operator_lines, report_lines

_TIME: Final = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"])


@click.command("match", short_help="Check a match, or with --all every match.")
@click.argument("match_id", metavar="[MATCH]", type=click.UUID, required=False)
@click.option(
    "--all", "all_matches", is_flag=True, help="Check all matches of the database and the ledger."
)
@click.option(
    "--processes",
    metavar="N",
    type=click.IntRange(1, 64),
    help="Number of processes, with --all.  [default: one per core]",
)
@with_audit_access
def match_command(
    *,
    access: Access,
    match_id: UUID | None,
    all_matches: bool,
    processes: int | None,
) -> None:
    """Check MATCH, and print its findings, illegal plays and challenges.

    With --all, check every match of the database, and print only faults.
    """
    if all_matches == (match_id is not None):
        raise click.UsageError("give either MATCH or --all")
    if match_id is None:
        is_ok = asyncio.run(_all(load_config(access.data_dir), processes or os.cpu_count() or 1))
    else:
        report = access.query(lambda source: source.report(match_id))
        click.echo("\n".join(report_lines(report)))
        is_ok = report.ok
    sys.exit(0 if is_ok else EXIT_FAILED)


async def _all(config: Config, processes: int) -> bool:
    """Check every stream of the database, including streams missing from the match list."""
    matches = faulty = 0
    async with open_store(config) as store:
        seals = Seals(store.checkpoints, config.note_key_file)
        async with AuditPool(processes) as auditors:
            async for page in auditors.judge_pages(_pages(store, seals)):
                for match_id, report, _ in page:
                    matches += 1
                    if not report.ok:
                        faulty += 1
                        click.echo("\n".join(fault_lines(report_message(match_id, report))))
        ledger = await ledger_state(store, seals)
    for line in (*ledger_lines(ledger), *operator_lines(ledger)):
        click.echo(f"ledger: {line}")
    click.echo(f"{matches} matches audited, {faulty} with faults")
    return ledger.ok and not faulty


async def _pages(store: EventStore, seals: Seals) -> AsyncIterator[list[Case]]:
    """Yield every match of the log, and then those that only the signed tree has."""
    async for ids in store.whole_matches.iterate_ids():
        yield await read_cases(store, seals, ids)
    yield await read_cases(store, seals, await store.checkpoints.list_lost_matches())


@click.command("payouts", short_help="Check the matches opened in a period.")
@click.option("--since", metavar="TIME", type=_TIME, help="Start of the period, inclusive (UTC).")
@click.option("--before", metavar="TIME", type=_TIME, help="End of the period, exclusive (UTC).")
@with_audit_access
def payouts_command(*, access: Access, since: datetime | None, before: datetime | None) -> None:
    """Check the matches opened in a period, their coins, and the whole ledger.

    A TIME is a date, or a date and time such as 2026-09-01T18:30 (UTC).

    Prints faults as it finds them. At a terminal, shows its progress.
    """
    is_ok = asyncio.run(_payouts(access, _utc(since), _utc(before)))
    sys.exit(0 if is_ok else EXIT_FAILED)


def _utc(time: datetime | None) -> datetime | None:
    return None if time is None else time.replace(tzinfo=UTC)


async def _payouts(access: Access, since: datetime | None, before: datetime | None) -> bool:
    is_ok = False
    async with access.open() as source:
        async for message in source.payouts(since, before):
            match message.WhichOneof("kind"):
                case "progress":
                    _show_progress(message.progress)
                case "faulty":
                    click.echo("\n".join(fault_lines(message.faulty)))
                case "summary":
                    _print_summary(message.summary)
                    is_ok = message.summary.ledger.ok and not message.summary.matches_with_faults
    return is_ok


def _show_progress(progress: api.VerifyProgress) -> None:
    if sys.stderr.isatty():
        ends = progress.matches_judged >= progress.matches_total
        text = f"\r{progress.matches_judged} of {progress.matches_total} matches checked"
        click.echo(text, err=True, nl=ends)


def _print_summary(summary: api.PayoutsSummary) -> None:
    click.echo(
        f"{summary.matches_judged} matches audited, {summary.matches_with_faults} with faults\n"
        f"staked {summary.staked_coins}, refunded {summary.refunded_coins}, "
        f"paid out {summary.paid_coins}"
    )
    for line in (*ledger_lines(summary.ledger), *operator_lines(summary.ledger)):
        click.echo(f"ledger: {line}")
    if summary.ledger.ok:
        held = (
            f"{summary.ledger.available_coins} with players, {summary.ledger.escrow_coins} staked"
        )
        click.echo(f"ledger: balanced, {summary.ledger.issued_coins} coins: {held}")
