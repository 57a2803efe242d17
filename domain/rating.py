"""Rating points from played-out matches, by the strength of the opponents (R13.2).

Each pair of seats in a match counts as a game that the better place wins, rated by the Elo formula.
The points are divided by the number of opponents, so that one match moves a player by at most
`RatingSettings.match_points`.

>>> settings = RatingSettings(
...     initial_points=1000, match_points=32, scale_points=400, bot_points={}, bot_day_points=50
... )
>>> ann_beats_bob = Finished(
...     outcome=Outcome.OUTCOME_PLAYED_OUT,
...     results=[SeatResult(seat=0, place=1), SeatResult(seat=1, place=2)],
...     durak=1,
... )
>>> ratings = rate(ann_beats_bob, [SeatOccupant("ann"), SeatOccupant("bob")], {}, 0, settings)
>>> ratings["ann"].points, ratings["bob"].points
(1016, 984)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from durak.v1.events_pb2 import Finished, Outcome, SeatResult
from durak.v1.settings_pb2 import BotLevel


@dataclass(frozen=True, slots=True)
class RatingSettings:
    """The settings of the rating.

    Attributes:
        initial_points: the points of a player before the first match.
        match_points: the maximum number of points that one match gives or takes.
        scale_points: the difference at which the stronger player is expected to win ten games of
            eleven.
        bot_points: the strength of bots, by level.
        bot_day_points: the maximum number of points that a player can win from bots on one day
            (UTC).
    """

    initial_points: int
    match_points: int
    scale_points: int
    bot_points: Mapping[BotLevel.ValueType, int]
    bot_day_points: int


class Rating(NamedTuple):
    """The rating of a player.

    Attributes:
        points: the rating points.
        matches: the number of matches played to the end, including draws (R9.6).
        wins: the number of wins (R13.1).
        losses: the number of losses (R13.1).
        day: the day of ``bot_points``, in days since 1970-01-01 (UTC).
        bot_points: the points won from bots on that day.
        times_left: the number of matches that the player left (R13.3). They change nothing else.
        times_left_losing: the number of those that the player left in a lost position.
    """

    points: int
    matches: int = 0
    wins: int = 0
    losses: int = 0
    day: int = 0
    bot_points: int = 0
    times_left: int = 0
    times_left_losing: int = 0


class SeatOccupant(NamedTuple):
    """The occupant of a seat: a player, or a bot with a level and no id."""

    player_id: str
    bot_level: BotLevel.ValueType = BotLevel.BOT_LEVEL_UNSPECIFIED


def is_rated(finished: Finished) -> bool:
    """Return whether a match has a card result and therefore counts (R9.6)."""
    return finished.outcome in (Outcome.OUTCOME_PLAYED_OUT, Outcome.OUTCOME_DRAW)


def has_durak(finished: Finished) -> bool:
    """Return whether a match was played out. Only such a match gives wins, a loss and points."""
    return finished.outcome == Outcome.OUTCOME_PLAYED_OUT


def has_won(finished: Finished, result: SeatResult) -> bool:
    """Return whether a seat won: first place in a played-out match, shared or not (R13.1)."""
    return has_durak(finished) and result.place == 1


def has_lost(finished: Finished, result: SeatResult) -> bool:
    """Return whether a seat lost as the durak (R13.1)."""
    return has_durak(finished) and result.seat == finished.durak


def rate(
    finished: Finished,
    seats: Sequence[SeatOccupant],
    before: Mapping[str, Rating],
    day: int,
    settings: RatingSettings,
) -> dict[str, Rating]:
    """Return the new ratings of the players of a match, by player id.

    Args:
        finished: the end of a match that `is_rated`.
        seats: the occupant of each seat.
        before: the ratings before the match. New players are missing.
        day: the day on which the match ended, in days since 1970-01-01 (UTC).
        settings: the settings of the rating.
    """
    first = Rating(settings.initial_points)
    old = {seat.player_id: before.get(seat.player_id, first) for seat in seats if seat.player_id}
    strength = [
        old[seat.player_id].points if seat.player_id else settings.bot_points[seat.bot_level]
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
            odds = (strength[other.seat] - strength[result.seat]) / settings.scale_points
            gain = _score(result.place, other.place) - 1 / (1 + 10**odds)
            if seats[other.seat].player_id:
                people += gain
            else:
                bots += gain
        share = settings.match_points / (len(finished.results) - 1)
        rating = _with_bots(old[player_id], round(bots * share), day, settings.bot_day_points)
        after[player_id] = rating._replace(
            points=rating.points + round(people * share),
            matches=rating.matches + 1,
            wins=rating.wins + has_won(finished, result),
            losses=rating.losses + has_lost(finished, result),
        )
    return after


def count_leaving(
    player_id: str, before: Mapping[str, Rating], settings: RatingSettings, *, losing: bool
) -> dict[str, Rating]:
    """Return the new rating of a player who left a match: only the counts change (R9.6, R13.3).

    ``losing``: the position was lost.
    """
    old = before.get(player_id, Rating(settings.initial_points))
    after = old._replace(
        times_left=old.times_left + 1, times_left_losing=old.times_left_losing + losing
    )
    return {player_id: after}


def _score(place: int, other: int) -> float:
    """Return the score of a game for the first of two places: 1, 0, or 0.5 for a shared place."""
    return 0.5 if place == other else float(place < other)


def _with_bots(rating: Rating, gain: int, day: int, limit: int) -> Rating:
    """Add the points from bots: losses in full, gains up to the daily limit."""
    won = rating.bot_points if rating.day == day else 0
    if gain > 0:
        gain = min(gain, max(0, limit - won))
        won += gain
    return rating._replace(points=rating.points + gain, day=day, bot_points=won)
