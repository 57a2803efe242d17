"""Plays random legal moves from a seed, and on tricky tables also illegal ones."""

from __future__ import annotations

import random
from collections.abc import Iterator

from domain.cards import cards_in, deck_cards, mask_of
from domain.match.commands import CLOCK, Play, TimeOut
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.move_messages import attack, challenge, defend, list_moves, transfer
from domain.match.moves import legal_moves
from domain.match.refusal import Refusal
from domain.match.view import seats_in, timestamp
from durak.v1.events_pb2 import Event, Record
from durak.v1.settings_pb2 import Deck, Settings
from durak.v1.table_pb2 import (
    PHASE_PLAYING,
    Move,
)
from tests.domain.tables import MATCH_ID, Table, accepted, full, settings, sitting

CHEATS = 0.1  # of the moves on a tricky table
CHALLENGES = 0.05  # of the moves on a tricky table
TIMEOUTS = 0.04  # of the moves on a table with a timer
OUT_OF_TURN = 0.15  # of the moves are tried by any seat in play
MOVES_MAX = 20_000  # in one match; by R9.5 every match ends long before


def all_settings() -> Iterator[Settings]:
    """All 832 combinations of the settings that the game core knows."""
    switches = [(bool(bits & 1), bool(bits & 2), bool(bits & 4)) for bits in range(8)]
    for deck in (Deck.DECK_24, Deck.DECK_36, Deck.DECK_52):
        for seats in range(2, min(6, deck // 6) + 1):
            for throw_in in (1, 2):
                for transfers, draw_allowed, five in switches:
                    for tricky in (False, True):
                        for timer in (0, 30):
                            yield settings(
                                deck=deck,
                                seats=seats,
                                throw_in=throw_in,
                                transfer=transfers,
                                draw_allowed=draw_allowed,
                                five_card_opening=five,
                                tricky=tricky,
                                turn_timer_seconds=timer,
                                stake_coins=0 if timer else 7,
                            )


def any_cards(match: Match, seat: int) -> list[Move]:
    """Every play of a card from the hand, legal or not."""
    held = list(cards_in(match.hands[seat]))
    wild = [attack(card) for card in held] + [transfer(card) for card in held]
    return wild + [defend(target, card) for target in match.attacks for card in held]


def dealt_by_seed(wanted: Settings, seed: int) -> Table:
    """A full table whose deck depends on this number."""
    return full(wanted, server_seed=seed.to_bytes(32, "big"))


def step(table: Table, chance: random.Random) -> list[Event]:
    """The events of one more random command. They are not folded."""
    match = table.match
    if match.table.turn_us and chance.random() < TIMEOUTS:
        table.now_us += 31_000_000
        return accepted(decide(match, CLOCK, TimeOut(table.now_us)))
    table.now_us += 1_000
    while True:
        seats = seats_in(match.on_clock() if chance.random() > OUT_OF_TURN else match.in_play)
        seat = chance.choice(seats)
        legal = legal_moves(match, seat)
        options = list_moves(legal)
        if match.table.tricky:
            if legal.challenge and chance.random() < CHALLENGES:
                options = [challenge(chance.choice(legal.challenge))]
            elif chance.random() < CHEATS:
                options = any_cards(match, seat)
        if not options:
            continue
        move = chance.choice(options)
        outcome = decide(match, sitting(seat), Play(move))
        if not isinstance(outcome, Refusal):
            return outcome.events
        assert move not in list_moves(legal), f"a legal move was refused: {move} {outcome}"


def play_out(table: Table, chance: random.Random) -> None:
    """Play the match to its end. After every event each card must be in one place."""
    match = table.match
    deck = mask_of(deck_cards(match.table.settings.deck))
    for _ in range(MOVES_MAX):
        if match.phase != PHASE_PLAYING:
            return
        for event in step(table, chance):
            record = Record(
                match_id=MATCH_ID,
                version=match.version + 1,
                event_time=timestamp(table.now_us),
                event=event,
            )
            match.apply(record)
            table.records.append(record)
            assert_every_card_once(match, deck)
    raise AssertionError(f"no end after {MOVES_MAX} moves")


def assert_every_card_once(match: Match, deck: int) -> None:
    """A faster form of `assert_every_card_in_one_place`, for long runs."""
    places = [*match.hands, match.on_table, mask_of(match.stock), match.discard]
    union = count = 0
    for place in places:
        union |= place
        count += place.bit_count()
    assert union == deck
    assert count == deck.bit_count()


def state_of(match: Match) -> dict[str, object]:
    """All fields of a match."""
    return {
        slot: getattr(match, slot) for base in type(match).__mro__[:-1] for slot in _slots(base)
    }


def _slots(base: type) -> tuple[str, ...]:
    """The names of the fields. mypyc has another name for the list of them."""
    slots: tuple[str, ...] = getattr(base, "__slots__", ()) or getattr(base, "__mypyc_attrs__", ())
    return slots
