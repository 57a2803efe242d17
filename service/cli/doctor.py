"""`durak doctor`: checks all that the service needs, and says what to do."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import click

from eventstore import EventStore
from eventstore.postgres.examination import Finding, examine
from service.administration.log import AdministrationLog
from service.checkpoints import signing_keys
from service.checkpoints.checkpointer import Checkpointer
from service.checkpoints.proofs import TreeBrokenError
from service.checkpoints.signing_keys import NoteKeyError
from service.cli.database import find_database
from service.cli.exits import EXIT_FAILED
from service.cli.options import DATA_DIR, load_config
from service.config import Config
from service.times import MICROSECONDS, system_now_us, to_us


@click.command("doctor")
@DATA_DIR
@click.pass_context
def doctor_command(context: click.Context, data_dir: Path | None) -> None:
    """Check all that the service needs of its database, clock and keys.

    Give it the settings of the service. It changes nothing. It prints a line for each check, and
    for a failed one what to do. The exit code is 0 if all is well, 1 if a check failed, and 3 if
    the database does not answer.
    """
    is_well = asyncio.run(_report(load_config(data_dir)))
    context.exit(0 if is_well else EXIT_FAILED)


async def _report(config: Config) -> bool:
    """Print the findings. Return whether there is no problem."""
    is_well = True
    async for subject, problem, is_advice in _examine(config):
        if problem is None:
            click.echo(f"ok      {subject}")
            continue
        click.echo(f"{'ADVICE' if is_advice else 'FAILED'}  {subject}: {problem}")
        is_well = is_well and is_advice
    return is_well


async def _examine(config: Config) -> AsyncIterator[Finding]:
    async with find_database(config) as dsn:
        findings = await examine(dsn)
        for finding in findings:
            yield finding
        if any(finding.problem for finding in findings):
            yield Finding("clock, keys and checkpoints", "not checked before the above is repaired")
            return
        async with await EventStore.open(dsn) as store:
            yield Finding("clock", await _find_offset(store, config))
            yield await _examine_keys(store, config)
            yield await _examine_published(store, config)


async def _find_offset(store: EventStore, config: Config) -> str | None:
    before_us = system_now_us()
    database_us = to_us(await store.read_time())
    after_us = system_now_us()
    ahead_us = max(before_us - database_us, database_us - after_us, 0)
    if ahead_us <= config.clock_offset_seconds_max * MICROSECONDS:
        return None
    return (
        f"this machine and the database differ by {ahead_us / MICROSECONDS:.1f} s, more than "
        "DURAK_CLOCK_OFFSET_SECONDS_MAX: synchronise the clocks of both (NTP)"
    )


async def _examine_keys(store: EventStore, config: Config) -> Finding:
    """Compare the keys with those on record. The service records its first keys itself."""
    subject = "checkpoint keys"
    if not config.note_key_file.exists():
        problem = "there is no key file, so nothing is signed: `durak key new NAME` creates one"
        return Finding(subject, problem, is_advice=True)
    try:
        keys = await asyncio.to_thread(signing_keys.read, config.note_key_file)
    except NoteKeyError as error:
        return Finding(subject, str(error))
    administration = AdministrationLog(store, config.conflict_retries_max)
    recorded = await administration.read_signing_keys()
    if recorded not in (None, [str(key.verifier) for key in keys]):
        problem = "the keys are not those on record: an operator must run `durak key record`"
        return Finding(subject, problem)
    return Finding(subject, None)


async def _examine_published(store: EventStore, config: Config) -> Finding:
    """Compare the published checkpoints with the log. Checkpoints in the database prove nothing."""
    subject = "published checkpoint"
    if config.checkpoint_folder is None and config.checkpoint_objects is None:
        problem = (
            "checkpoints are published nowhere, so an administrator of the database could replace "
            "the log: set DURAK_CHECKPOINT_FOLDER or DURAK_CHECKPOINT_OBJECTS"
        )
        return Finding(subject, problem, is_advice=True)
    try:
        await Checkpointer(store, config).check_published()
    except TreeBrokenError as error:
        return Finding(subject, f"{error}: the database is an older backup, or it was rewritten")
    except (OSError, ValueError) as error:
        return Finding(subject, str(error))
    return Finding(subject, None)
