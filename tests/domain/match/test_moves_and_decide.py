"""`legal_moves` and `decide` agree on every card, for every seat, in random matches."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from domain.cards import CARDS, cards_in
from domain.match.commands import Play
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.move_messages import attack, challenge, defend, list_moves, transfer
from domain.match.moves import legal_moves
from domain.match.refusal import Refusal
from durak.v1.settings_pb2 import Settings
from durak.v1.table_pb2 import PHASE_PLAYING, Move
from tests.domain.random_play import dealt_by_seed, step
from tests.domain.tables import PASS, TAKE, Table, settings, sitting

NO_SUCH_CARDS = (0, 53, 1000)

TABLES = {
    "24 cards, transfer": settings(deck=24, seats=3, transfer=True),
    "36 cards, two seats": settings(draw_allowed=False),
    "36 cards, neighbours, five-card opening": settings(
        seats=5, throw_in=1, five_card_opening=True
    ),
    "36 cards, all dealt": settings(seats=6, transfer=True),
    "52 cards, neighbours, transfer": settings(deck=52, seats=4, throw_in=1, transfer=True),
    "tricky": settings(seats=4, throw_in=1, transfer=True, tricky=True),
    "tricky, two seats": settings(deck=24, transfer=True, tricky=True),
}


def every_move(match: Match) -> Iterator[Move]:
    """Every move that a client can send: any card, any pair, any play."""
    numbers = (*CARDS, *NO_SUCH_CARDS)
    for card in numbers:
        yield attack(card)  # type: ignore[arg-type] # a client can send any number
        yield transfer(card)  # type: ignore[arg-type]
    for target in (*match.attacks, *match.beaten_by.values(), CARDS[-1], 0):
        for card in numbers:
            yield defend(target, card)  # type: ignore[arg-type]
    yield TAKE
    yield PASS
    for version in range(match.version + 2):
        yield challenge(version)


def may_be_tried(match: Match, seat: int, move: Move) -> bool:
    """Whether a move is an illegal play of R11.1: an own card, in role, within the cap."""
    if not match.table.tricky or not match.attacks:
        return False
    room = len(match.attacks) < match.cap
    held = set(cards_in(match.hands[seat]))
    if move.HasField("attack"):
        return bool(match.throwers >> seat & 1) and room and move.attack.card in held
    if seat != match.defender or match.taking:
        return False
    if move.HasField("defend"):
        unbeaten = move.defend.attack_card in set(match.attacks) - set(match.beaten_by)
        return unbeaten and move.defend.card in held
    if move.HasField("transfer"):
        facing = min(match.hands[match.next_in_play(seat)].bit_count(), match.attacks_max)
        return len(match.attacks) < facing and move.transfer.card in held
    return False


def assert_agreement(match: Match) -> None:
    for seat in range(len(match.hands)):
        legal = legal_moves(match, seat)
        listed = {move.SerializeToString() for move in list_moves(legal)}
        listed |= {challenge(version).SerializeToString() for version in legal.challenge}
        for move in every_move(match):
            version = match.version
            expected = move.SerializeToString() in listed or may_be_tried(match, seat, move)
            accepted = not isinstance(decide(match, sitting(seat), Play(move)), Refusal)
            assert accepted == expected, f"seat {seat}, version {version}: {move}"
            assert match.version == version, "deciding changes nothing"


@pytest.mark.parametrize("name", TABLES)
def test_decide_accepts_exactly_the_legal_moves(name: str) -> None:
    wanted: Settings = TABLES[name]
    chance = random.Random(name)
    table: Table = dealt_by_seed(wanted, chance.getrandbits(64))
    states = 0
    while table.match.phase == PHASE_PLAYING:
        if chance.random() < 0.2 or states == 0:
            states += 1
            assert_agreement(table.match)
        table.store(step(table, chance))
    assert_agreement(table.match)
    assert states > 5


def test_some_seat_can_always_move() -> None:
    """Every seat on the clock has a legal move."""
    for name, wanted in TABLES.items():
        chance = random.Random(name)
        table = dealt_by_seed(wanted, chance.getrandbits(64))
        while table.match.phase == PHASE_PLAYING:
            match = table.match
            assert match.on_clock()
            for seat in range(wanted.seats):
                if match.on_clock() >> seat & 1:
                    assert list_moves(legal_moves(match, seat))
            table.store(step(table, chance))
