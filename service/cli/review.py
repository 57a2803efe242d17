"""`durak review`: which moves of an ending kept the result, and what would have been better."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

import click
from rich.table import Table

from domain.cards import name
from durak.v1 import match_service_pb2 as api
from durak.v1.match_service_pb2 import BestResult, ReviewVerdict
from durak.v1.table_pb2 import Move, TableView
from service.cli.connection import Connection, connecting
from service.cli.terminal import new_console
from service.render.cards import in_colour
from service.render.table import names_in, trump_suit
from service.render.texts import Names, Say, speak

_RESULTS: Final = {
    BestResult.BEST_RESULT_WIN: "review-win",
    BestResult.BEST_RESULT_DRAW: "review-draw",
    BestResult.BEST_RESULT_LOSS: "review-loss",
}
_GAVE_AWAY: Final = ReviewVerdict.REVIEW_VERDICT_GAVE_AWAY
_UNDECIDED: Final = ReviewVerdict.REVIEW_VERDICT_UNDECIDED
_REVIEW_SECONDS: Final = 30.0
"""How long the answer may take: more than the solver has (DURAK_REVIEW_SECONDS), as others may be
before us."""
_HEADS: Final = ("version", "player", "move", "result", "better")


@click.command("review")
@click.argument("match_id", metavar="MATCH", type=click.UUID)
@connecting("player")
def review_command(*, connection: Connection, match_id: UUID) -> None:
    """Tell which moves of MATCH gave a result away, as one of its players or an auditor.

    Judged are the moves made with two seats in play and an empty stock: there it can be worked out
    what either seat reaches by its best play.
    """
    say = speak(connection.language)
    view, moves = asyncio.run(_asked(connection, str(match_id)))
    console = new_console()
    if not moves:
        console.print(say("review-nothing"))
        return
    names = names_in(view.seats, say)
    console.print(_table(moves, names, trump_suit(view), say))
    for line in _summary(moves, names, say):
        console.print(line)


async def _asked(
    connection: Connection, match_id: str
) -> tuple[TableView, Sequence[api.ReviewedMove]]:
    async with connection.client() as client:
        request = api.ReviewMatchRequest(match_id=match_id)
        review = await client.call(client.stub.ReviewMatch, request, seconds=_REVIEW_SECONDS)
        table = api.GetMatchRequest(match_id=match_id)
        return (await client.call(client.stub.GetMatch, table)).view, review.moves


def _table(moves: Iterable[api.ReviewedMove], names: Names, trumps: int, say: Say) -> Table:
    """One row for each move; those that gave something away stand out."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in _HEADS:
        table.add_column(
            say(f"review-{head}"),
            justify="right" if head == "version" else "left",
            no_wrap=head in {"version", "move"},
        )
    for move in moves:
        texts = (
            str(move.version),
            names[move.seat] + (f" ({say('review-clock')})" if move.by_clock else ""),
            _move(move.move, say),
            _result(move, say),
            _better(move, say),
        )
        style = "bold" if move.verdict == _GAVE_AWAY else None
        table.add_row(*(in_colour(text, trumps) for text in texts), style=style)
    return table


def _result(move: api.ReviewedMove, say: Say) -> str:
    if move.verdict == _UNDECIDED:
        return say("review-undecided")
    before, after = (say(_RESULTS[result]) for result in (move.before, move.after))
    return f"{before} → {after}" if move.verdict == _GAVE_AWAY else before


def _better(move: api.ReviewedMove, say: Say) -> str:
    match move.WhichOneof("better"):
        case "better_move":
            return _move(move.better_move, say)
        case "better_to_wait":
            return say("review-wait")
    return ""


def _move(move: Move, say: Say) -> str:
    match move.WhichOneof("kind"):
        case "attack":
            return say("review-attack", card=name(move.attack.card))
        case "defend":
            laid = {"attack_card": name(move.defend.attack_card), "card": name(move.defend.card)}
            return say("move-beat", **laid)
        case "transfer":
            return say("move-transfer", card=name(move.transfer.card))
        case "take":
            return say("move-take")
    return say("move-pass")


def _summary(moves: Iterable[api.ReviewedMove], names: Names, say: Say) -> list[str]:
    """For each seat that moved: how many of its moves did what."""
    counts = Counter((move.seat, move.verdict) for move in moves)
    return [
        say(
            "review-summary",
            player=names[seat],
            kept=counts[seat, ReviewVerdict.REVIEW_VERDICT_KEPT],
            given=counts[seat, _GAVE_AWAY],
            undecided=counts[seat, _UNDECIDED],
        )
        for seat in sorted({seat for seat, _ in counts})
    ]
