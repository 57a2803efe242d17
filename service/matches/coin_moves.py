"""Stakes (R12): the coins that move with the events of a command, in the same transaction."""

from collections.abc import Sequence

from domain.match.fold import Match
from domain.match.table import Table
from durak.v1 import errors_pb2 as reasons
from durak.v1.events_pb2 import Event, Finished
from eventstore.errors import InsufficientCoins, OpeningCoinsLocked
from eventstore.ledger.books import CoinMove, ReturnStake, Settle, TakeStake
from eventstore.ledger.ledger import Ledger
from service.config import Config
from service.rpc.errors import Refused, refuse


def coin_moves(
    before: Match, after: Match, events: Sequence[Event], free_matches: int
) -> list[CoinMove]:
    """Return the coin moves of the events between two states of a match; none at a free table.

    Sitting down takes the stake (R12.2), giving the seat up returns it, and the end of the match
    pays out the shares in `finished` (R12.3 to R12.6). `free_matches` is the number of free matches
    to play before opening coins can be staked (R12.9).
    """
    stake = after.table.settings.stake_coins
    if not stake:
        return []
    moves: list[CoinMove] = []
    for event in events:
        match event.WhichOneof("kind"):
            case "seat_taken":
                moves.append(TakeStake(event.seat_taken.player_id, stake, free_matches))
            case "seat_vacated":
                moves.append(ReturnStake(_player(before.table, event.seat_vacated.seat)))
            case "finished" if event.finished.results:  # without a taken seat there is no bank
                moves.append(Settle(_shares(after.table, event.finished)))
    return moves


def _shares(table: Table, finished: Finished) -> dict[str, int]:
    return {_player(table, result.seat): result.share_coins for result in finished.results}


def _player(table: Table, number: int) -> str:
    """Return the player on a taken seat. Bots do not sit at staked tables (R12.7)."""
    seat = table.seats[number]
    assert seat is not None
    assert not seat.is_bot
    return seat.player_id


async def open_accounts(ledger: Ledger, moves: Sequence[CoinMove], config: Config) -> None:
    """Give the opening balance to each player who takes a stake for the first time."""
    for move in moves:
        if isinstance(move, TakeStake):
            await ledger.open_account(move.player, config.opening_balance_coins)


def too_few_coins(error: InsufficientCoins) -> Refused:
    """Return the refusal for a balance below the stake (R12.2)."""
    return refuse(
        reasons.ERROR_REASON_INSUFFICIENT_COINS,
        clause="R12.2",
        balance_coins=str(error.available),
        stake_coins=str(error.needed),
    )


def opening_coins_locked(error: OpeningCoinsLocked) -> Refused:
    """Return the refusal for a stake that needs locked coins of the opening balance (R12.9)."""
    return refuse(
        reasons.ERROR_REASON_OPENING_COINS_LOCKED,
        clause="R12.9",
        stakeable_coins=str(error.stakeable),
        played_matches=str(error.played),
        needed_matches=str(error.needed),
    )
