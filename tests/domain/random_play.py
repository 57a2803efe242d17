"""Players who do whatever they may, drawn from a seed; on tricky tables with any card of theirs."""

from __future__ import annotations

import random
from collections.abc import Iterator

from domain.cards import Card, cards_in, deck_cards, mask_of
from domain.match.commands import CLOCK, Play, TimeOut
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.moves import legal_moves
from domain.match.refusal import Refusal
from domain.match.view import seats_in, timestamp
from durak.v1.events_pb2 import Event, Record
from durak.v1.settings_pb2 import Deck, Settings
from durak.v1.table_pb2 import (
    PHASE_PLAYING,
    AttackMove,
    ChallengeMove,
    DefendMove,
    Move,
    Moves,
    TransferMove,
)
from tests.domain.tables import MATCH_ID, PASS, TAKE, Table, accepted, full, settings, sitting

CHEATS = 0.1  # of the moves on a tricky table
CHALLENGES = 0.05  # the same
TIMEOUTS = 0.04  # of the moves on a table with a timer
HASTE = 0.15  # of the moves are tried by a seat that nobody waits for
MOVES_MAX = 20_000  # in one match; R9.5 ends every match long before


def all_settings() -> Iterator[Settings]:
    """Every combination of the settings that the game core knows, 832 in all."""
    switches = [(bool(bits & 1), bool(bits & 2), bool(bits & 4)) for bits in range(8)]
    for deck in (Deck.DECK_24, Deck.DECK_36, Deck.DECK_52):
        for seats in range(2, min(6, deck // 6) + 1):
            for throw_in in (1, 2):
                for transfer, draw_allowed, five in switches:
                    for tricky in (False, True):
                        for timer in (0, 30):
                            yield settings(
                                deck=deck,
                                seats=seats,
                                throw_in=throw_in,
                                transfer=transfer,
                                draw_allowed=draw_allowed,
                                five_card_opening=five,
                                tricky=tricky,
                                turn_timer_seconds=timer,
                                stake_coins=0 if timer else 7,
                            )


def moves_in(moves: Moves) -> list[Move]:
    """Each of the legal moves, challenges apart."""
    listed = [attack(card) for card in moves.attack]
    listed += [defend(o.attack_card, card) for o in moves.defend for card in o.cards]
    listed += [transfer(card) for card in moves.transfer]
    listed += [TAKE] * moves.can_take + [PASS] * moves.can_pass
    return listed


def attack(card: Card) -> Move:
    return Move(attack=AttackMove(card=card))


def defend(target: Card, card: Card) -> Move:
    return Move(defend=DefendMove(attack_card=target, card=card))


def transfer(card: Card) -> Move:
    return Move(transfer=TransferMove(card=card))


def challenge(version: int) -> Move:
    return Move(challenge=ChallengeMove(play_version=version))


def any_cards(match: Match, seat: int) -> list[Move]:
    """Every way to lay a card of one's hand, right or wrong."""
    held = list(cards_in(match.hands[seat]))
    wild = [attack(card) for card in held] + [transfer(card) for card in held]
    return wild + [defend(target, card) for target in match.attacks for card in held]


def dealt_by_seed(wanted: Settings, seed: int) -> Table:
    """A full table whose deck follows from this number."""
    return full(wanted, server_seed=seed.to_bytes(32, "big"))


def step(table: Table, chance: random.Random) -> list[Event]:
    """The events of one more command, by whoever chance lets move; folded nowhere yet."""
    match = table.match
    if match.table.turn_us and chance.random() < TIMEOUTS:
        table.now_us += 31_000_000
        return accepted(decide(match, CLOCK, TimeOut(table.now_us)))
    table.now_us += 1_000
    while True:
        waited_for = seats_in(match.on_clock() if chance.random() > HASTE else match.in_play)
        seat = chance.choice(waited_for)
        legal = legal_moves(match, seat)
        options = moves_in(legal)
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
        assert move not in moves_in(legal), f"a listed move was refused: {move} {outcome}"


def play_out(table: Table, chance: random.Random) -> None:
    """Play the match to its end, with every card of the deck in one place after every event."""
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
            assert_whole(match, deck)
    raise AssertionError(f"no end after {MOVES_MAX} moves")


def assert_whole(match: Match, deck: int) -> None:
    """`assert_every_card_in_one_place`, in the little time that there is in a long run."""
    places = [*match.hands, match.on_table, mask_of(match.stock), match.discard]
    union = count = 0
    for place in places:
        union |= place
        count += place.bit_count()
    assert union == deck
    assert count == deck.bit_count()


def state_of(match: Match) -> dict[str, object]:
    """Everything that a match is made of."""
    return {
        slot: getattr(match, slot) for base in type(match).__mro__[:-1] for slot in _slots(base)
    }


def _slots(base: type) -> tuple[str, ...]:
    return tuple(getattr(base, "__slots__", ()))
