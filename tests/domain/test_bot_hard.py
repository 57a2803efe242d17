"""The hard bot (R14.4): what it takes to be possible is, and its endings are exact."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from domain.bots import BOTS, choose
from domain.bots.arena import play_deal, rate
from domain.bots.endings import is_ending, position
from domain.bots.memory import remember
from domain.bots.sampling import Chance, Worlds
from domain.bots.strength import Packed, pack, pack_all
from domain.cards import cards_in, deck_cards
from domain.endgame import Move as Choice
from domain.endgame import MoveKind, Position, Role, evaluate_moves
from domain.view import redact, seats_in, table_view
from durak.v1.events_pb2 import Event
from durak.v1.settings_pb2 import BotLevel, Settings
from durak.v1.table_pb2 import PHASE_PLAYING, Move, TableView
from tests.domain.random_play import all_settings, dealt_by_seed, step
from tests.domain.tables import Table, settings

HARD = BotLevel.BOT_LEVEL_HARD
NORMAL = BotLevel.BOT_LEVEL_NORMAL


def seen(table: Table, seat: int) -> tuple[TableView, list[Event]]:
    match = table.match
    return table_view(match, seat), [redact(r.event, seat, match.trump_card) for r in table.records]


def moments(wanted: Settings, number: int) -> Iterator[tuple[Table, int]]:
    """A random match at each moment at which a seat has to move."""
    table = dealt_by_seed(wanted, number)
    chance = random.Random(number)
    while table.match.phase == PHASE_PLAYING:
        yield table, seats_in(table.match.on_clock())[0]
        table.store(step(table, chance))


# --- worlds -------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", range(3, 832, 83))
def test_every_world_agrees_with_what_the_seat_knows(index: int) -> None:
    wanted = list(all_settings())[index]
    deck = pack_all(deck_cards(wanted.deck), 0).bit_count()
    for table, seat in moments(wanted, index):
        match = table.match
        view, history = seen(table, seat)
        memory = remember(history, seat)
        world = Worlds(view, memory).draw(Chance(match.version))
        trump_suit = match.trump_suit
        assert world.hands[seat] == pack(match.hands[seat], trump_suit)
        assert [hand.bit_count() for hand in world.hands] == memory.counts
        for hand, known in zip(world.hands, memory.known, strict=True):
            assert not pack(known, trump_suit) & ~hand
        assert len(world.stock) == len(match.stock)
        if match.stock:  # drawn from the end: the trump card comes last
            assert world.stock[0] == pack_all([match.trump_card], trump_suit)
        placed = [*world.hands, *world.stock, world.table, pack(match.discard, trump_suit)]
        assert sum(cards.bit_count() for cards in placed) == deck
        assert union(placed).bit_count() == deck
        assert (world.attacker, world.defender, world.cap) == (
            match.attacker,
            match.defender,
            match.cap,
        )
        assert world.in_play == seats_in(match.in_play)
        assert world.attacks_max == match.attacks_max
        assert len(world.unbeaten) == match.unbeaten
        assert world.table == pack(match.on_table, trump_suit)
        assert world.ranks & union(placed) == pack(match.ranks_on_table, trump_suit) & union(placed)
        assert (world.taking, world.passed) == (match.taking, match.passed)


def union(parts: list[Packed]) -> Packed:
    whole = 0
    for part in parts:
        whole |= part
    return whole


def test_worlds_of_another_seed_are_other_worlds_and_of_the_same_the_same() -> None:
    table = dealt_by_seed(settings(), 1)
    view, history = seen(table, 0)
    worlds = Worlds(view, remember(history, 0))
    assert not worlds.is_one
    hands = [worlds.draw(Chance(seed)).hands[1] for seed in (1, 1, 2, 3)]
    assert hands[0] == hands[1]
    assert len(set(hands)) == 3


def test_every_unseen_card_is_as_likely_to_be_in_the_hand() -> None:
    """Of 29 unseen cards six are in the other hand; 3,000 draws are ±5 standard errors."""
    table = dealt_by_seed(settings(), 2)
    view, history = seen(table, 0)
    memory = remember(history, 0)
    worlds, chance = Worlds(view, memory), Chance(77)
    hands = [worlds.draw(chance).hands[1] for _ in range(3000)]
    for card in cards_in(memory.unseen):
        held = sum(bool(hand & pack_all([card], table.match.trump_suit)) for hand in hands)
        assert abs(held / 3000 - 6 / 29) < 0.037


# --- endings ------------------------------------------------------------------------------------


def true_position(table: Table) -> Position:
    """The position with all cards open, as the match itself has it."""
    match = table.match
    beaten = [card for pair in match.beaten_by.items() for card in pair]
    unbeaten = [card for card in match.attacks if card not in match.beaten_by]
    defends = match.unbeaten and not match.taking
    return Position(
        attacker_hand=match.hands[match.attacker],
        defender_hand=match.hands[match.defender],
        trump_suit=match.trump_suit,
        unbeaten=sum(1 << card - 1 for card in unbeaten),
        beaten=sum(1 << card - 1 for card in beaten),
        taking=match.taking,
        turn=Role.DEFENDER if defends else Role.ATTACKER,
        transfer=match.table.transfer,
        draw_allowed=match.table.draw_allowed,
        five_card_limit=match.attacks_max == 5,
        quiet_bouts=match.dry_bouts,
        attacker_seat=match.attacker,
        defender_seat=match.defender,
    )


def as_choice(move: Move) -> Choice:
    match move.WhichOneof("kind"):
        case "attack":
            return Choice(MoveKind.ATTACK, 1 << move.attack.card - 1)
        case "defend":
            target, card = move.defend.attack_card, move.defend.card
            return Choice(MoveKind.DEFEND, 1 << card - 1, 1 << target - 1)
        case "transfer":
            return Choice(MoveKind.TRANSFER, 1 << move.transfer.card - 1)
        case "take":
            return Choice(MoveKind.TAKE)
        case _:
            return Choice(MoveKind.PASS)


@pytest.mark.parametrize("seats", [2, 3])
@pytest.mark.parametrize("transfer", [False, True])
@pytest.mark.parametrize("draw_allowed", [False, True])
def test_R14_4_with_two_seats_and_no_stock_no_move_gives_a_result_away(
    seats: int, transfer: bool, draw_allowed: bool
) -> None:
    wanted = settings(seats=seats, transfer=transfer, draw_allowed=draw_allowed)
    judged = 0
    for number in range(12):
        for table, seat in moments(wanted, number):
            view, history = seen(table, seat)
            choices = len(view.moves.attack) + len(view.moves.defend) + view.moves.can_take
            if not is_ending(view) or choices + view.moves.can_pass < 2:
                continue
            exact = true_position(table)
            assert position(view, remember(history, seat)) == exact
            cards_in_play = exact.attacker_hand | exact.defender_hand
            if cards_in_play.bit_count() > 9:
                continue
            values = evaluate_moves(exact)
            chosen = as_choice(choose(HARD, view, history, number))
            assert values[chosen].value == max(found.value for found in values.values())
            judged += 1
    assert judged > 20


# --- play ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("opponent", [BotLevel.BOT_LEVEL_EASY, NORMAL])
def test_R14_4_the_hard_bot_beats_the_others(opponent: BotLevel.ValueType) -> None:
    """The share is 0.7 or more; these deals are always the same ones."""
    deals = [play_deal(settings(), BOTS[HARD], BOTS[opponent], seed=4, number=n) for n in range(5)]
    assert rate([deal.score for deal in deals]).mean > 0.5


def test_the_same_seed_gives_the_same_move() -> None:
    table = dealt_by_seed(settings(seats=3), 3)
    seat = seats_in(table.match.on_clock())[0]
    view, history = seen(table, seat)
    assert choose(HARD, view, history, 5) == choose(HARD, view, history, 5)
