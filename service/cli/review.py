"""`durak review`: the endgame moves that kept or gave away a result, and better ones."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

import click
from rich.table import Table

from domain.cards import card_name
from durak.v1 import match_service_pb2 as api
from durak.v1.match_service_pb2 import ReviewVerdict
from durak.v1.table_pb2 import EndgameResult, Move, TableView
from service.cli.connection import Connection, with_connection
from service.cli.options import MATCH
from service.cli.terminal import new_console
from service.render.cards import colour_cards
from service.render.table import seat_names, trump_suit
from service.render.texts import Names, translator
from service.text.localisation import Translate

_RESULTS: Final = {
    EndgameResult.ENDGAME_RESULT_WIN: "review-win",
    EndgameResult.ENDGAME_RESULT_DRAW: "review-draw",
    EndgameResult.ENDGAME_RESULT_LOSS: "review-loss",
}
_GAVE_AWAY: Final = ReviewVerdict.REVIEW_VERDICT_GAVE_AWAY
_UNDECIDED: Final = ReviewVerdict.REVIEW_VERDICT_UNDECIDED
_TIMEOUT_SECONDS: Final = 30.0
"""Longer than the solver's limit (DURAK_REVIEW_SECONDS_MAX), since the call may wait for others."""
_HEADS: Final = ("version", "player", "move", "result", "better")


@click.command("review")
@MATCH
@with_connection("player")
def review_command(*, connection: Connection, match_id: UUID) -> None:
    """Show which endgame moves of MATCH gave a better result away.

    For players of the match, once it has ended, and for auditors. Reviews the moves with two
    players left and an empty stock, where the best result can be computed exactly.
    """
    translate = translator(connection.language)
    view, moves = asyncio.run(_fetch(connection, str(match_id)))
    console = new_console()
    if not moves:
        console.print(translate("review-nothing"))
        return
    names = seat_names(view.seats, translate)
    console.print(_table(moves, names, trump_suit(view), translate))
    for line in _summary(moves, names, translate):
        console.print(line)


async def _fetch(
    connection: Connection, match_id: str
) -> tuple[TableView, Sequence[api.ReviewedMove]]:
    async with connection.client() as client:
        request = api.ReviewMatchRequest(match_id=match_id)
        review = await client.call(
            client.stub.ReviewMatch, request, timeout_seconds=_TIMEOUT_SECONDS
        )
        table = api.GetMatchRequest(match_id=match_id)
        return (await client.call(client.stub.GetMatch, table)).view, review.moves


def _table(
    moves: Iterable[api.ReviewedMove], names: Names, trumps: int, translate: Translate
) -> Table:
    """Return one row for each move. Moves that gave a result away are bold."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in _HEADS:
        table.add_column(
            translate(f"review-{head}"),
            justify="right" if head == "version" else "left",
            no_wrap=head in {"version", "move"},
        )
    for move in moves:
        by_clock = f" ({translate('review-clock')})" if move.by_clock else ""
        texts = (
            str(move.version),
            f"{names[move.seat]}{by_clock}",
            _move(move.move, translate),
            _result(move, translate),
            _better(move, translate),
        )
        style = "bold" if move.verdict == _GAVE_AWAY else None
        table.add_row(*(colour_cards(text, trumps) for text in texts), style=style)
    return table


def _result(move: api.ReviewedMove, translate: Translate) -> str:
    if move.verdict == _UNDECIDED:
        return translate("review-undecided")
    before, after = (translate(_RESULTS[result]) for result in (move.before, move.after))
    return f"{before} → {after}" if move.verdict == _GAVE_AWAY else before


def _better(move: api.ReviewedMove, translate: Translate) -> str:
    match move.WhichOneof("better"):
        case "better_move":
            return _move(move.better_move, translate)
        case "better_to_wait":
            return translate("review-wait")
    return ""


def _move(move: Move, translate: Translate) -> str:
    match move.WhichOneof("kind"):
        case "attack":
            return translate("review-attack", card=card_name(move.attack.card))
        case "defend":
            cards = {
                "attack_card": card_name(move.defend.attack_card),
                "card": card_name(move.defend.card),
            }
            return translate("move-beat", **cards)
        case "transfer":
            return translate("move-transfer", card=card_name(move.transfer.card))
        case "take":
            return translate("move-take")
    return translate("move-pass")


def _summary(moves: Iterable[api.ReviewedMove], names: Names, translate: Translate) -> list[str]:
    """Return for each seat how many of its moves had each verdict."""
    counts = Counter((move.seat, move.verdict) for move in moves)
    return [
        translate(
            "review-summary",
            player=names[seat],
            kept=counts[seat, ReviewVerdict.REVIEW_VERDICT_KEPT],
            given=counts[seat, _GAVE_AWAY],
            undecided=counts[seat, _UNDECIDED],
        )
        for seat in sorted({seat for seat, _ in counts})
    ]
