"""Rating (R13.2): points by the strength of the opponents, from played-out matches alone.

Each pair of seats of a match is a game between the two, won by the better place: Elo's rule, shared
out over the opponents, so that one match moves a player by at most `Numbers.match_points`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from durak.v1.events_pb2 import Finished, Outcome, SeatResult
from durak.v1.settings_pb2 import BotLevel


@dataclass(frozen=True, slots=True)
class RatingSettings:
    """The numbers of the rating; the service's settings."""

    initial_points: int
    """What a player has before the first match."""
    match_points: int
    """The most that one match gives or takes."""
    scale_points: int
    """How much stronger a player is who is expected to win ten games of eleven."""
    bot_points: Mapping[BotLevel.ValueType, int]
    """The strength of bots, by level."""
    bot_day_points: int
    """The most that a player can win from bots on one day (UTC)."""


class Rating(NamedTuple):
    """A player's rating and what it comes from."""

    points: int
    matches: int = 0
    """Matches played to the end, draws included (R9.6)."""
    wins: int = 0
    losses: int = 0
    day: int = 0
    """The day of `bot_points`, counted from 1970-01-01 (UTC)."""
    bot_points: int = 0
    """Points won from bots on that day."""


class SeatOccupant(NamedTuple):
    """Who sits on a seat: a player, or a bot with a level and no id."""

    player_id: str
    bot_level: BotLevel.ValueType = BotLevel.BOT_LEVEL_UNSPECIFIED


def is_rated(finished: Finished) -> bool:
    """Whether a match has a card result: others give no points, wins or losses (R9.6)."""
    return finished.outcome in (Outcome.OUTCOME_PLAYED_OUT, Outcome.OUTCOME_DRAW)


def has_durak(finished: Finished) -> bool:
    """Whether a match was played out, and gives wins, a loss and points; a draw does not."""
    return finished.outcome == Outcome.OUTCOME_PLAYED_OUT


def has_won(finished: Finished, result: SeatResult) -> bool:
    """Whether a seat has a win: the first place of a played-out match, shared or not (R13.1)."""
    return has_durak(finished) and result.place == 1


def has_lost(finished: Finished, result: SeatResult) -> bool:
    """Whether a seat has a loss: the durak's (R13.1)."""
    return has_durak(finished) and result.seat == finished.durak


def rate(
    finished: Finished,
    seats: Sequence[SeatOccupant],
    before: Mapping[str, Rating],
    day: int,
    numbers: RatingSettings,
) -> dict[str, Rating]:
    """The ratings of a match's players after it.

    Args:
        finished: the end of a match that `counts`.
        seats: who sat, by seat.
        before: the ratings before the match; who is not in it has none yet.
        day: the day on which the match ended, counted from 1970-01-01 (UTC).
        numbers: the numbers of the rating.
    """
    first = Rating(numbers.initial_points)
    old = {seat.player_id: before.get(seat.player_id, first) for seat in seats if seat.player_id}
    strength = [
        old[seat.player_id].points if seat.player_id else numbers.bot_points[seat.bot_level]
        for seat in seats
    ]
    after: dict[str, Rating] = {}
    for result in finished.results:
        player_id = seats[result.seat].player_id
        if not player_id:
            continue
        people, bots = 0.0, 0.0
        for other in finished.results if has_durak(finished) else ():
            if other.seat == result.seat:
                continue
            odds = (strength[other.seat] - strength[result.seat]) / numbers.scale_points
            gain = _score(result.place, other.place) - 1 / (1 + 10**odds)
            if seats[other.seat].player_id:
                people += gain
            else:
                bots += gain
        share = numbers.match_points / (len(finished.results) - 1)
        rating = _with_bots(old[player_id], round(bots * share), day, numbers.bot_day_points)
        after[player_id] = rating._replace(
            points=rating.points + round(people * share),
            matches=rating.matches + 1,
            wins=rating.wins + has_won(finished, result),
            losses=rating.losses + has_lost(finished, result),
        )
    return after


def _score(place: int, other: int) -> float:
    """What a game between two seats came to for the first: 1, 0, or half for a shared place."""
    return 0.5 if place == other else float(place < other)


def _with_bots(rating: Rating, gain: int, day: int, limit: int) -> Rating:
    """With what came from bots: losses count in full, gains up to the day's limit."""
    won = rating.bot_points if rating.day == day else 0
    if gain > 0:
        gain = min(gain, max(0, limit - won))
        won += gain
    return rating._replace(points=rating.points + gain, day=day, bot_points=won)
