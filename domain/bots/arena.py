"""Plays whole matches between bots by the real rules and measures how often each bot wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import sqrt
from typing import Final

from domain.bots import Bot, move_seed, off_clock_seat
from domain.match.commands import Actor, Command, OpenTable, Play, SeatBot, by_bot, by_player
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.refusal import Refusal
from domain.match.view import redact, seats_in, table_view
from durak.v1.events_pb2 import Event, Finished, Outcome
from durak.v1.settings_pb2 import BotLevel, Settings
from durak.v1.table_pb2 import Move, TableView

_OWNER: Final = by_player("arena")
_MATCH_ID: Final = bytes(16)
_Z95: Final = 1.96
"""Standard errors on each side of the mean in a 95% confidence interval."""


class BotMatch:
    """A match in which all seats are bots. The deal depends only on the server seed.

    ``events`` shows every card, and ``histories`` what each seat has seen.
    """

    def __init__(
        self,
        settings: Settings,
        players: Sequence[Bot],
        server_seed: bytes,
        bot_seeds: Sequence[int],
    ) -> None:
        """Open the table, seat the bots and deal.

        Args:
            settings: the settings of the table.
            players: the bot on each seat.
            server_seed: 32 bytes.
            bot_seeds: the seed of each seat's choices (64 bits).

        Raises:
            ValueError: the settings are refused.
        """
        self.match = Match(_MATCH_ID)
        self.players = players
        self.bot_seeds = bot_seeds
        self.events: list[Event] = []
        self.histories: list[list[Event]] = [[] for _ in players]
        opening = OpenTable(settings, server_seed, idle_limit_seconds=1, reveal_limit_seconds=1)
        self._perform(_OWNER, opening)
        for seat in range(len(players)):
            # The recorded level has no effect here: `players` choose the moves.
            self._perform(_OWNER, SeatBot(BotLevel.BOT_LEVEL_EASY, seat))

    def play(self) -> Finished:
        """Play to the end. R9.5 guarantees that there is one."""
        while self.match.result is None:
            self.step()
        return self.match.result

    def step(self) -> None:
        """Make a challenge off the clock, or one move of the first seat on the clock (R10.1)."""
        watching = off_clock_seat(self.match)
        if watching is not None:
            challenge = self.players[watching].choose_challenge(*self._shown_to(watching))
            if challenge is not None:
                self._perform(by_bot(watching), Play(challenge))
                return
        seat = seats_in(self.match.on_clock())[0]
        self._perform(by_bot(seat), Play(self.choice(seat)))

    def choice(self, seat: int) -> Move:
        """Return the move that the bot on this seat chooses now."""
        return self.players[seat].choose_move(*self._shown_to(seat))

    def _shown_to(self, seat: int) -> tuple[TableView, list[Event], int]:
        """Return what the bot on this seat chooses from."""
        seed = move_seed(self.bot_seeds[seat], self.match.version)
        return table_view(self.match, seat), self.histories[seat], seed

    def _perform(self, actor: Actor, command: Command) -> None:
        outcome = decide(self.match, actor, command)
        if isinstance(outcome, Refusal):
            raise ValueError(f"refused: {outcome}")  # noqa: TRY004 - a refusal is a value
        self.match = outcome.after
        self.events += outcome.events
        for event in outcome.events:
            for seat, history in enumerate(self.histories):
                history.append(redact(event, seat, self.match.trump_card))


@dataclass(frozen=True, slots=True)
class DealResult:
    """The challenger's results in one deal, played once from each seat."""

    firsts: int
    draws: int
    duraks: int
    matches: int

    @property
    def score(self) -> float:
        """The share of matches in which the challenger is not the durak; a draw counts half."""
        return (self.matches - self.duraks - self.draws / 2) / self.matches


def play_deal(
    settings: Settings, challenger: Bot, others: Bot, *, seed: int, number: int
) -> DealResult:
    """Play deal ``number`` of the arena's ``seed`` with the challenger on each seat in turn.

    With two seats these are mirrored matches: the same deal with the seats swapped. A draw counts
    only if the challenger is part of it. ``firsts`` counts first places in the other matches.
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
    """Return the mean of one value per deal, with its confidence interval.

    There must be at least one deal. Deals are independent of each other, but the matches of one
    deal are not, so the interval is computed over deals.
    """
    count = len(shares)
    mean = sum(shares) / count
    spread = sum((share - mean) ** 2 for share in shares) / max(1, count - 1)
    return Estimate(mean, _Z95 * sqrt(spread / count))
