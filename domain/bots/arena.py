"""Whole matches between bots, by the rules that everybody plays by, and how often who wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import sqrt
from typing import Final

from domain.bots import Bot, move_seed
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.refusal import Refusal
from domain.match.seating import open_table, seat_bot
from domain.match.view import redact, seats_in, table_view
from durak.v1.events_pb2 import Event, Finished, Outcome, Record
from durak.v1.settings_pb2 import BotLevel, Settings
from durak.v1.table_pb2 import Move

_OWNER: Final = "arena"
_MATCH_ID: Final = bytes(16)
_Z95: Final = 1.96
"""Standard errors on either side of a mean that hold 95% of a normal distribution."""


class BotMatch:
    """A match whose seats are all bots. The deal follows from the server seed alone."""

    def __init__(
        self,
        settings: Settings,
        players: Sequence[Bot],
        server_seed: bytes,
        bot_seeds: Sequence[int],
    ) -> None:
        """Seat these players, by seat, and deal. Raises `ValueError` for a table that is refused.

        ``server_seed`` is 32 bytes; ``bot_seeds`` are what each seat's choices are drawn from.
        """
        self.match = Match()
        self.players = players
        self.bot_seeds = bot_seeds
        self.histories: list[list[Event]] = [[] for _ in players]
        opened = open_table(
            settings,
            start_series=False,
            match_id=_MATCH_ID,
            owner_id=_OWNER,
            server_seed=server_seed,
            idle_limit_seconds=1,
        )
        self._store(opened)
        for seat, seed in enumerate(bot_seeds):
            # Which level the log names is of no account here: `players` choose.
            level = BotLevel.BOT_LEVEL_EASY
            self._store(seat_bot(self.match, _OWNER, seat, level, seed))

    def play(self) -> Finished:
        """Play to the end (R9.5 sees to it that there is one)."""
        while self.match.result is None:
            self.step()
        return self.match.result

    def step(self) -> None:
        """One move of the first seat that the table waits for (R10.1)."""
        seat = seats_in(self.match.on_clock())[0]
        self._store(decide(self.match, seat, self.choice(seat)))

    def choice(self, seat: int) -> Move:
        """What the player on this seat wants to do now."""
        match = self.match
        seed = move_seed(self.bot_seeds[seat], match.version)
        return self.players[seat](table_view(match, seat), self.histories[seat], seed)

    def _store(self, events: list[Event] | Refusal) -> None:
        if isinstance(events, Refusal):
            raise ValueError(f"refused: {events}")  # noqa: TRY004 - a refusal is a value
        match = self.match
        for event in events:
            match.apply(Record(match_id=_MATCH_ID, version=match.version + 1, event=event))
            for seat, history in enumerate(self.histories):
                history.append(redact(event, seat, match.trump_card))


@dataclass(frozen=True, slots=True)
class DealResult:
    """How one deal went for the challenger, who played it once from each seat."""

    firsts: int
    draws: int
    duraks: int
    matches: int

    @property
    def score(self) -> float:
        """The share of matches in which the challenger was not the durak, draws counted half."""
        return (self.matches - self.duraks - self.draws / 2) / self.matches


def play_deal(
    settings: Settings, challenger: Bot, others: Bot, *, seed: int, number: int
) -> DealResult:
    """Play deal ``number`` of an arena's ``seed`` with the challenger on each seat in turn.

    With two seats these are mirrored matches: the same deal, seats swapped. A draw counts as one
    only for a challenger who takes part in it; ``firsts`` are first places in the other matches.
    """
    server_seed = sha256(b"durak.arena" + seed.to_bytes(8) + number.to_bytes(8)).digest()
    firsts = draws = duraks = 0
    for seat in range(settings.seats):
        players = [others] * settings.seats
        players[seat] = challenger
        bot_seeds = [move_seed(int.from_bytes(server_seed[:8]), s) for s in range(settings.seats)]
        result = BotMatch(settings, players, server_seed, bot_seeds).play()
        place = result.results[seat].place
        last = max(entry.place for entry in result.results)
        if result.outcome == Outcome.OUTCOME_DRAW and place == last:
            draws += 1
        elif result.outcome == Outcome.OUTCOME_PLAYED_OUT and result.durak == seat:
            duraks += 1
        elif place == 1:
            firsts += 1
    return DealResult(firsts, draws, duraks, settings.seats)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and half the width of its 95% confidence interval."""

    mean: float
    margin: float


def estimate(shares: Sequence[float]) -> Estimate:
    """The mean of one number for each deal, of which there is at least one.

    The deals are independent of each other; the matches of one deal are not, so the interval is
    taken over the deals.
    """
    count = len(shares)
    mean = sum(shares) / count
    spread = sum((share - mean) ** 2 for share in shares) / max(1, count - 1)
    return Estimate(mean, _Z95 * sqrt(spread / count))
