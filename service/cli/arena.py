"""`durak arena`: compare two bot levels over many matches."""

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Any, Final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from domain.bots import BOTS
from domain.bots.arena import DealResult, estimate, play_deal
from domain.match.refusal import Refusal
from domain.match.seating import complete_settings
from durak.v1.settings_pb2 import Settings
from service.cli.options import GAME, LEVELS, table_settings, with_options
from service.cli.terminal import new_console

_DEALS_PER_TASK: Final = 5
_LEVEL_NAMES: Final = [name for name, level in LEVELS.items() if level in BOTS]


@click.command()
@click.argument("challenger", type=click.Choice(_LEVEL_NAMES))
@click.argument("others", type=click.Choice(_LEVEL_NAMES))
@click.option(
    "--matches",
    metavar="N",
    type=click.IntRange(1),
    default=2000,
    show_default=True,
    help="Number of matches, rounded up to whole deals.",
)
@with_options(*GAME)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(0, 2**63),
    default=1,
    show_default=True,
    help="Seed of the deals; the same seed gives the same matches.",
)
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(1, 256),
    help="Number of processes.  [default: one per core]",
)
def arena(challenger: str, others: str, **given: Any) -> None:  # noqa: ANN401 - the options above
    """Play bots of level CHALLENGER against bots of level OTHERS, and print the rates.

    Plays every deal once for each seat, with the challenger in that seat and OTHERS in all others.
    This cancels the luck of the deal.
    """
    settings = table_settings(given)
    refusal = complete_settings(settings)
    if isinstance(refusal, Refusal):
        raise click.UsageError("; ".join(fault.description for fault in refusal.fields))
    deals = -(-given["matches"] // settings.seats)
    workers = given["workers"] or os.cpu_count() or 1
    console = new_console()
    played: list[DealResult] = []
    with _progress() as progress:
        task = progress.add_task(f"{challenger} – {others}", total=deals * settings.seats)
        for some in _play(settings, (challenger, others), given["seed"], deals, workers):
            played += some
            progress.advance(task, sum(deal.matches for deal in some))
    _report(console, f"{challenger} against {others}", played)


def _progress() -> Progress:
    """Return a progress bar on standard error, so that standard output has only the rates."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )


def _play(
    settings: Settings, levels: tuple[str, str], seed: int, deals: int, workers: int
) -> Iterator[list[DealResult]]:
    """Yield the deals, a few at a time, as the processes finish them."""
    spawn = multiprocessing.get_context("spawn")  # never fork after gRPC is loaded
    with ProcessPoolExecutor(workers, spawn, ignore_interrupt) as pool:
        waiting: set[Future[list[DealResult]]] = {
            pool.submit(
                play_deals,
                settings.SerializeToString(),
                levels,
                seed,
                range(first, min(first + _DEALS_PER_TASK, deals)),
            )
            for first in range(0, deals, _DEALS_PER_TASK)
        }
        try:
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def ignore_interrupt() -> None:
    """Ignore Ctrl-C in a worker process. The main process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def play_deals(
    settings: bytes, levels: tuple[str, str], seed: int, numbers: Sequence[int]
) -> list[DealResult]:
    """Play deals by their numbers, in a worker process."""
    challenger, others = (BOTS[LEVELS[level]] for level in levels)
    table = Settings.FromString(settings)
    return [play_deal(table, challenger, others, seed=seed, number=number) for number in numbers]


def _report(console: Console, title: str, deals: Sequence[DealResult]) -> None:
    """Print the challenger's rates with 95% confidence intervals."""
    matches = sum(deal.matches for deal in deals)
    table = Table(title=f"{title}: {matches} matches, {len(deals)} deals", title_justify="left")
    table.add_column("of the challenger")
    table.add_column("share", justify="right")
    table.add_column("95% interval", justify="right")
    rows = {
        "first": [deal.firsts / deal.matches for deal in deals],
        "draw": [deal.draws / deal.matches for deal in deals],
        "durak": [deal.duraks / deal.matches for deal in deals],
        "score (draws half)": [deal.score for deal in deals],
    }
    for name, shares in rows.items():
        found = estimate(shares)
        low, high = max(0.0, found.mean - found.margin), min(1.0, found.mean + found.margin)
        table.add_row(name, f"{found.mean:.1%}", f"{low:.1%} – {high:.1%}")
    console.print(table)
