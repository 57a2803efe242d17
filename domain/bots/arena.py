"""Whole matches between bots, by the rules that everybody plays by."""

from collections.abc import Sequence
from typing import Final

from domain.bots import Bot, move_seed
from domain.decide import decide
from domain.match import Match
from domain.refusal import Refusal
from domain.tables import open_table, seat_bot
from domain.view import redact, seats_in, table_view
from durak.v1.events_pb2 import Event, Finished, Record
from durak.v1.settings_pb2 import BotLevel, Settings
from durak.v1.table_pb2 import Move

_OWNER: Final = "arena"
_MATCH_ID: Final = bytes(16)


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
