"""A table for tests: set up by events alone and moved by moves in words.

Seats are letters, clockwise from A. Cards are in their written form. A test deals the hands that it
needs and then plays:

>>> table = dealt("6♠ 6♥ 7♥ 8♥ 9♥ 10♥", "7♠ 8♠ 6♣ 7♣ 8♣ 9♣", trump="A♠")
>>> events = table.play("A: 6♥", "B: 7♠ beats 6♥", "A: pass")
>>> [event.WhichOneof("kind") for event in events]
['passed', 'discarded', 'drew']
>>> table.attacker, table.hand("A")
('B', '10♣ 7♥ 8♥ 9♥ 10♥ 6♠')

Every event is stored as a record, folded, and checked for lost or duplicate cards.
"""

import re
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from domain.cards import CARD_BY_NAME, Card, card_name, cards_in, deck_cards
from domain.match.commands import (
    CLOCK,
    Actor,
    Command,
    Leave,
    OpenTable,
    Play,
    RevealSeed,
    TakeSeat,
    TimeOut,
    by_player,
)
from domain.match.deal import secret_hash
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.move_messages import attack, challenge, defend, pass_turn, take, transfer
from domain.match.outcome import Outcome
from domain.match.refusal import Refusal
from domain.match.view import redact, table_view, timestamp
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.events_pb2 import Dealt, DealtHand, Event, Finished, Record
from durak.v1.events_pb2 import Outcome as Ending
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from durak.v1.table_pb2 import Move, TableView

LETTERS = "ABCDEF"
MATCH_ID = uuid.UUID("8c5e3b1e-6f0a-4c53-9d0f-000000000001").bytes
SERVER_SEED = bytes(range(32))
IDLE_LIMIT_SECONDS = 86_400
REVEAL_LIMIT_SECONDS = 30
START_US = 1_790_000_000_000_000

PASS = pass_turn()
TAKE = take()


def settings(**wanted: Any) -> Settings:
    """Settings of a plain podkidnoy table, except for the given values."""
    plain: dict[str, Any] = {
        "deck": Deck.DECK_36,
        "seats": 2,
        "throw_in": ThrowIn.THROW_IN_ALL,
        "transfer": False,
        "draw_allowed": True,
        "five_card_opening": False,
        "tricky": False,
    }
    return Settings(**(plain | wanted))


def cards(words: str) -> list[Card]:
    """The cards of ``"6♥ 10♠"``, in this order."""
    return [CARD_BY_NAME[word] for word in words.split()]


def names(of: Iterable[Card]) -> str:
    """The inverse of `cards`."""
    return " ".join(card_name(card) for card in of)


def move_of(match: Match, words: str) -> Move:
    """A move in words: a card (led or thrown in), ``7♥ beats 6♥``, ``transfer 6♣``, and so on."""
    verb, _, rest = words.partition(" ")
    if words == "pass":
        return PASS
    if words == "take":
        return TAKE
    if verb == "transfer":
        return transfer(CARD_BY_NAME[rest])
    if verb == "challenge":
        _, version = match.laid[CARD_BY_NAME[rest]]
        return challenge(version)
    if beats := re.fullmatch(r"(\S+) beats (\S+)", words):
        card, target = (CARD_BY_NAME[word] for word in beats.groups())
        return defend(target, card)
    return attack(CARD_BY_NAME[words])


def sitting(seat: int) -> Actor:
    """The player on a seat of `full` and `dealt` tables."""
    return by_player(f"player-{LETTERS[seat]}")


class Table:
    """A match under test: its records, and the state that they fold to."""

    def __init__(self, match_id: bytes = MATCH_ID) -> None:
        self.match = Match(match_id)
        self.records: list[Record] = []
        self.now_us = START_US

    def store(self, events: Sequence[Event], actor_id: str = "") -> Sequence[Event]:
        """Store and fold the events of one command."""
        for event in events:
            record = Record(
                match_id=self.match.match_id,
                version=self.match.version + 1,
                event_time=timestamp(self.now_us),
                actor_id=actor_id,
                event=event,
            )
            self.match.apply(record)
            self.records.append(record)
            assert_every_card_in_one_place(self.match)
        return events

    # --- actions -------------------------------------------------------------------------------

    def perform(self, actor: Actor, command: Command) -> Sequence[Event]:
        """Store what a command makes; it must be accepted."""
        return self.store(accepted(decide(self.match, actor, command)))

    def play(self, *moves: str) -> Sequence[Event]:
        """Make moves such as ``"A: 6♥"``. Return the events of the last one."""
        events: Sequence[Event] = []
        for words in moves:
            outcome = self._decide(words)
            assert not isinstance(outcome, Refusal), f"{words}: {refused(outcome)}"
            events = self.store(outcome.events)
        return events

    def refused(self, words: str) -> str:
        """Try a move that must be refused. Return ``"REASON clause"``."""
        outcome = self._decide(words)
        assert isinstance(outcome, Refusal), f"{words} was accepted"
        return refused(outcome)

    def _decide(self, words: str) -> Outcome | Refusal:
        letter, _, what = words.partition(": ")
        command = Leave() if what == "leave" else Play(move_of(self.match, what))
        return decide(self.match, sitting(LETTERS.index(letter)), command)

    def pass_all(self) -> Sequence[Event]:
        """Pass for every seat that the bout waits for."""
        events: Sequence[Event] = []
        match = self.match
        bout = match.bout
        while match.bout == bout and match.attacks and match.on_clock() == match.awaited() != 0:
            events = self.play(f"{self.on_clock[0]}: pass")
        return events

    def wait(self, seconds: float) -> Sequence[Event]:
        """Let time pass, and let the server act once for the seat on the clock."""
        self.now_us += round(seconds * 1_000_000)
        return self.perform(CLOCK, TimeOut(self.now_us))

    # --- queries -------------------------------------------------------------------------------

    def shown_to(self, seat: int) -> tuple[TableView, list[Event]]:
        """The view of a seat and all events as they are shown to it."""
        trump_card = self.match.trump_card
        shown = [redact(record.event, seat, trump_card) for record in self.records]
        return table_view(self.match, seat), shown

    def hand(self, letter: str) -> str:
        """The hand of a seat, in ascending order."""
        return names(cards_in(self.match.hands[LETTERS.index(letter)]))

    @property
    def attacker(self) -> str:
        return LETTERS[self.match.attacker]

    @property
    def defender(self) -> str:
        return LETTERS[self.match.defender]

    @property
    def on_clock(self) -> str:
        return seats(self.match.on_clock())

    @property
    def throwers(self) -> str:
        return seats(self.match.throwers)

    @property
    def on_table(self) -> str:
        return names(self.match.table_cards())

    @property
    def discard(self) -> str:
        return names(cards_in(self.match.discard))

    @property
    def result(self) -> Finished:
        assert self.match.result is not None, "the match goes on"
        return self.match.result

    @property
    def outcome(self) -> str:
        """``durak B``, ``draw``, ``abandoned by C`` or ``cancelled``; ``goes on`` before."""
        if self.match.result is None:
            return "goes on"
        if self.result.outcome == Ending.OUTCOME_PLAYED_OUT:
            return f"durak {LETTERS[self.result.durak]}"
        if self.result.outcome == Ending.OUTCOME_ABANDONED:
            return f"abandoned by {LETTERS[self.result.leaver]}"
        return Ending.Name(self.result.outcome).removeprefix("OUTCOME_").lower()

    @property
    def places(self) -> list[int]:
        """The place of each seat, by seat."""
        return [result.place for result in self.result.results]

    @property
    def shares(self) -> list[int]:
        """The coins of each seat, by seat."""
        return [result.share_coins for result in self.result.results]


def kinds(events: Iterable[Event]) -> list[str]:
    """The kinds of these events."""
    return [str(event.WhichOneof("kind")) for event in events]


def seats(mask: int) -> str:
    """The letters of a set of seats."""
    return "".join(letter for seat, letter in enumerate(LETTERS) if mask >> seat & 1)


def refused(refusal: Outcome | Refusal) -> str:
    """A refusal as ``"REASON clause"``."""
    assert isinstance(refusal, Refusal)
    reason = ErrorReason.Name(refusal.reason).removeprefix("ERROR_REASON_")
    return f"{reason} {refusal.clause}".strip()


def accepted(outcome: Outcome | Refusal) -> list[Event]:
    """The events of a command that must be accepted."""
    assert not isinstance(outcome, Refusal), refused(outcome)
    return outcome.events


def opened(wanted: Settings, server_seed: bytes = SERVER_SEED) -> Table:
    """An open table with all seats free."""
    table = Table()
    table.perform(
        sitting(0), OpenTable(wanted, server_seed, IDLE_LIMIT_SECONDS, REVEAL_LIMIT_SECONDS)
    )
    return table


def full(wanted: Settings, server_seed: bytes = SERVER_SEED) -> Table:
    """A table with all seats taken and all secrets revealed, dealt from its seeds."""
    table = promised(wanted, server_seed)
    for seat in range(wanted.seats):
        table.perform(sitting(seat), RevealSeed(secret_of(seat)))
    return table


def promised(wanted: Settings, server_seed: bytes = SERVER_SEED) -> Table:
    """A table with all seats taken, whose players have to reveal their secrets."""
    table = opened(wanted, server_seed)
    for seat, letter in enumerate(LETTERS[: wanted.seats]):
        table.perform(sitting(seat), TakeSeat(letter, client_seed_hash=promise_of(seat)))
    return table


def secret_of(seat: int) -> bytes:
    """The secret of the player on a seat of `full` and `promised` tables."""
    return LETTERS[seat].encode() * 32


def promise_of(seat: int, match_id: bytes = MATCH_ID) -> bytes:
    """The hash of `secret_of` a seat."""
    return secret_hash(match_id, sitting(seat).player_id, secret_of(seat))


def dealt(*hands: str, trump: str, stock: str = "", **wanted: Any) -> Table:
    """A table with these hands dealt, six cards each.

    ``stock`` is the start of the stock in drawing order. The rest follows in ascending order, and
    ``trump``, the card turned up, is last. If the hands use up the deck, ``trump`` must be the last
    card of the last hand. R3.4 decides who leads.
    """
    table = opened(settings(seats=len(hands), **wanted))
    for seat, letter in enumerate(LETTERS[: len(hands)]):
        events = accepted(decide(table.match, sitting(seat), TakeSeat(letter)))
        table.store(events[:1])  # without the deal that follows
    held = [cards(hand) for hand in hands]
    drawn_first = cards(stock)
    turned_up = CARD_BY_NAME[trump]
    gone = {turned_up, *drawn_first, *(card for hand in held for card in hand)}
    rest = [card for card in deck_cards(table.match.table.settings.deck) if card not in gone]
    whole = [*drawn_first, *rest, turned_up]
    if turned_up in held[-1]:
        assert whole == [turned_up], "the deal does not use up the deck"
        assert held[-1][-1] == turned_up, "the last card dealt is the trump card"
        whole = []
    trumps = [
        (card, seat)
        for seat, hand in enumerate(held)
        for card in hand
        if card_name(card)[-1] == trump[-1]
    ]
    deal = Dealt(
        hands=[DealtHand(seat=seat, cards=hand) for seat, hand in enumerate(held)],
        trump_card=turned_up,
        stock=whole,
        first_attacker=min(trumps)[1],
    )
    table.store([Event(dealt=deal)])
    return table


def assert_every_card_in_one_place(match: Match) -> None:
    """Each card of the deck is in exactly one place: hand, table, stock or discard pile."""
    if not match.hands:
        return
    places = [list(cards_in(hand)) for hand in match.hands]
    places += [match.table_cards(), match.stock, list(cards_in(match.discard))]
    everywhere = sorted(card for place in places for card in place)
    assert everywhere == deck_cards(match.table.settings.deck)
