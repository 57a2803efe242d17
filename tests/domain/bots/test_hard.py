"""The hard bot (R14.4): its samples are possible and its endgames are exact."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from domain.bots import BOTS, choose_move, hard
from domain.bots.arena import estimate, play_deal
from domain.bots.card_memory import remember_cards
from domain.bots.determinization import Determinizer, SeededRandom
from domain.bots.endgame_play import is_endgame, known_position, solve_bout
from domain.bots.evaluation import HAND_EVALUATORS
from domain.bots.hard import Budget
from domain.bots.packed_cards import Packed, pack_cards, pack_mask
from domain.bots.simulation import Simulation, Variant
from domain.cards import CARD_BY_NAME, cards_in, deck_cards
from domain.endgame import Position, Role, evaluate_moves
from domain.endgame.conversion import to_move_message
from domain.match.move_messages import attack, transfer
from domain.match.view import seats_in
from durak.v1.settings_pb2 import BotLevel, Deck, Settings
from durak.v1.table_pb2 import PHASE_PLAYING, Move
from tests.domain.endgame_tables import endgame_table
from tests.domain.random_play import all_settings, dealt_by_seed, step
from tests.domain.tables import LETTERS, Table, cards, dealt, settings

HARD = BotLevel.BOT_LEVEL_HARD
NORMAL = BotLevel.BOT_LEVEL_NORMAL


def turns(wanted: Settings, number: int) -> Iterator[tuple[Table, int]]:
    """A random match at each turn, with a seat on the clock."""
    table = dealt_by_seed(wanted, number)
    chance = random.Random(number)
    while table.match.phase == PHASE_PLAYING:
        yield table, seats_in(table.match.on_clock())[0]
        table.store(step(table, chance))


# --- samples ------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", range(3, 832, 166))
def test_every_sample_agrees_with_what_the_seat_knows(index: int) -> None:
    wanted = list(all_settings())[index]
    deck = pack_cards(deck_cards(wanted.deck), 0).bit_count()
    for table, seat in turns(wanted, index):
        match = table.match
        view, history = table.shown_to(seat)
        memory = remember_cards(history, seat)
        simulation = Determinizer(view, memory).sample(SeededRandom(match.version))
        trump_suit = match.trump_suit
        assert simulation.hands[seat] == pack_mask(match.hands[seat], trump_suit)
        assert [hand.bit_count() for hand in simulation.hands] == memory.hand_sizes
        for hand, known in zip(simulation.hands, memory.known, strict=True):
            assert not pack_mask(known, trump_suit) & ~hand
        assert len(simulation.stock) == len(match.stock)
        if match.stock:  # drawn from the end, so the trump card is drawn last
            assert simulation.stock[0] == pack_cards([match.trump_card], trump_suit)
        placed = [
            *simulation.hands,
            *simulation.stock,
            simulation.table,
            pack_mask(match.discard, trump_suit),
        ]
        assert sum(cards.bit_count() for cards in placed) == deck
        assert union(placed).bit_count() == deck
        assert (simulation.attacker, simulation.defender, simulation.cap) == (
            match.attacker,
            match.defender,
            match.cap,
        )
        assert simulation.in_play == seats_in(match.in_play)
        assert simulation.attacks_max == match.attacks_max
        assert len(simulation.unbeaten) == match.unbeaten
        assert simulation.table == pack_mask(match.on_table, trump_suit)
        assert simulation.ranks & union(placed) == pack_mask(
            match.ranks_on_table, trump_suit
        ) & union(placed)
        assert (simulation.taking, simulation.passed) == (match.taking, match.passed)


def union(parts: list[Packed]) -> Packed:
    whole = 0
    for part in parts:
        whole |= part
    return whole


def test_samples_depend_on_the_seed_alone() -> None:
    table = dealt_by_seed(settings(), 1)
    view, history = table.shown_to(0)
    determinizer = Determinizer(view, remember_cards(history, 0))
    assert not determinizer.is_unique
    hands = [determinizer.sample(SeededRandom(seed)).hands[1] for seed in (1, 1, 2, 3)]
    assert hands[0] == hands[1]
    assert len(set(hands)) == 3


def test_every_unseen_card_is_equally_likely_to_be_in_the_hand() -> None:
    """Six of 29 unseen cards are in the other hand. 5 standard errors of 3,000 draws are 0.037."""
    table = dealt_by_seed(settings(), 2)
    view, history = table.shown_to(0)
    memory = remember_cards(history, 0)
    determinizer, chance = Determinizer(view, memory), SeededRandom(77)
    hands = [determinizer.sample(chance).hands[1] for _ in range(3000)]
    for card in cards_in(memory.unseen):
        held = sum(bool(hand & pack_cards([card], table.match.trump_suit)) for hand in hands)
        assert abs(held / 3000 - 6 / 29) < 0.037


def test_a_card_that_a_hand_seems_to_miss_is_mostly_sampled_elsewhere() -> None:
    """B took 6♥ and so seems to have no hearts. Eight hearts are unseen.

    Otherwise each of them would be in B's hand in 6 of 28 samples: B holds 6 of the 28 unseen
    cards. The memory reduces that to a fifth, and slightly more, because a heart can be exchanged
    for another heart. 5 standard errors of 1,000 draws of eight cards are 0.02.
    """
    table = dealt("6♠ 6♥ 6♦ 6♣ 9♦ 9♣", "7♣ 7♦ 8♦ 8♣ 10♦ J♦", trump="A♠", stock="J♣")
    table.play("A: 6♥", "B: take", "A: pass")
    view, history = table.shown_to(0)
    memory = remember_cards(history, 0)
    determinizer, chance = Determinizer(view, memory), SeededRandom(5)
    hearts = pack_cards(cards("7♥ 8♥ 9♥ 10♥ J♥ Q♥ K♥ A♥"), table.match.trump_suit)
    held = sum((determinizer.sample(chance).hands[1] & hearts).bit_count() for _ in range(1000))
    assert 0.2 * 6 / 28 - 0.02 < held / 8000 < 0.2 * 6 / 28 + 0.03


# --- evaluation ---------------------------------------------------------------------------------


def chance_of(hand: str, other: str, stock: int, deck: Deck.ValueType = Deck.DECK_36) -> float:
    """The survival chance of the first of two seats, who leads. Spades are trumps."""
    hands = [pack_cards(cards(words), 3) for words in (hand, other)]
    simulation = Simulation(hands, [1] * stock, 0, Variant())
    chance, other_chance = HAND_EVALUATORS[deck].chances(simulation)
    assert chance + other_chance == pytest.approx(1)  # one of two seats is the durak
    return chance


@pytest.mark.parametrize("deck", HAND_EVALUATORS)
@pytest.mark.parametrize("stock", [1, 4, 10, 16])
def test_better_cards_give_a_better_chance(deck: Deck.ValueType, stock: int) -> None:
    plain = "9♣ 10♣ J♣ Q♣ 10♥"
    assert chance_of(plain + " A♠", plain + " 9♥", stock, deck) > 0.55
    assert chance_of(plain + " 9♥", plain + " A♠", stock, deck) < 0.5
    assert chance_of(plain + " A♥", plain + " 9♥", stock, deck) > 0.5
    assert chance_of(plain, plain + " 9♥ 9♦", stock, deck) > 0.5  # fewer cards, too


# --- endgames -----------------------------------------------------------------------------------


def true_position(table: Table) -> Position:
    """The position with all cards open, taken from the match itself."""
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
        bouts_without_discard=match.bouts_without_discard,
        attacker_seat=match.attacker,
        defender_seat=match.defender,
    )


@pytest.mark.parametrize("seats", [2, 3])
@pytest.mark.parametrize("transfer", [False, True])
@pytest.mark.parametrize("draw_allowed", [False, True])
def test_R14_4_with_two_seats_and_no_stock_every_move_keeps_the_best_result(
    seats: int, transfer: bool, draw_allowed: bool
) -> None:
    wanted = settings(seats=seats, transfer=transfer, draw_allowed=draw_allowed)
    judged = 0
    for number in range(5):
        for table, seat in turns(wanted, number):
            view, history = table.shown_to(seat)
            choices = len(view.moves.attack) + len(view.moves.defend) + view.moves.can_take
            if not is_endgame(view) or choices + view.moves.can_pass < 2:
                continue
            exact = true_position(table)
            assert known_position(view, remember_cards(history, seat)) == exact
            cards_in_play = exact.attacker_hand | exact.defender_hand
            if cards_in_play.bit_count() > 8:
                continue
            values = evaluate_moves(exact)
            chosen = choose_move(HARD, view, history, number)
            best = max(found.value for found in values.values())
            assert chosen in [
                to_move_message(m) for m, found in values.items() if found.value == best
            ]
            judged += 1
    assert judged > 5


def hard_move(table: Table, letter: str) -> Move:
    return choose_move(HARD, *table.shown_to(LETTERS.index(letter)), 1)


def test_R15_the_hard_bot_transfers_for_a_draw_instead_of_taking() -> None:
    """A has led 6♥ and holds 7♥ 9♣; spades are trumps.

    If B takes, A leads 7♥ and then 9♣, which neither 6♣ nor 6♥ nor 7♥ beats, and is out. If B
    transfers with 6♣ both hands become empty.
    """
    table = endgame_table("6♥ 7♥ 9♣", "6♣", trump="♠", transfer=True)
    table.play("A: 6♥")
    assert hard_move(table, "B") == transfer(CARD_BY_NAME["6♣"])
    table.play("B: transfer 6♣")
    # Beating both cards is the draw. If A took them, B would be out.
    assert hard_move(table, "A").WhichOneof("kind") == "defend"


def test_R14_4_the_hard_bot_leads_a_trump_where_that_wins() -> None:
    """A holds 7♥ and the trump 6♠, B 8♥ 9♣.

    If A leads 7♥, B beats it and leads 9♣, which A beats with the last card: a draw. If A leads 6♠,
    B must take it. Then 7♥ is A's last card, and B always has cards left.
    """
    table = endgame_table("7♥ 6♠", "8♥ 9♣", trump="♠")
    assert hard_move(table, "A") == attack(CARD_BY_NAME["6♠"])
    assert choose_move(NORMAL, *table.shown_to(0), 1) == attack(CARD_BY_NAME["7♥"])


def outcomes(attacker: str, defender: str, *, draw_allowed: bool = True) -> tuple[object, object]:
    """The results of the attacker and the defender. Spades are trumps, seat 1 attacks."""
    hands = [pack_cards(cards(words), 3) for words in (defender, attacker)]
    simulation = Simulation(hands, [], 1, Variant(draw_allowed=draw_allowed))
    solution = solve_bout(simulation, 3, 100)
    assert solution.exact
    return (1 + solution.value) / 2, (1 - solution.value) / 2


def test_R15_the_ends_of_playouts_are_exact() -> None:
    assert outcomes("6♥", "7♥") == (0.5, 0.5)
    assert outcomes("6♥", "7♥", draw_allowed=False) == (1, 0)  # R9.4
    assert outcomes("6♥", "7♥ K♣ 8♦") == (1, 0)
    assert outcomes("7♥ 6♠", "8♥ 9♣") == (1, 0)  # as in the test above
    assert outcomes("A♥ 8♣ 9♦", "6♠") == (0, 1)


# --- play ---------------------------------------------------------------------------------------


def test_R14_4_the_hard_bot_beats_the_others() -> None:
    """Even with a fraction of its budget. The deals are always the same.

    docs/bots.md has the results of the full budget over thousands of deals.
    """
    bot = replace(BOTS[HARD], choose_move=partial(hard.choose_move, budget=Budget(100, 1000)))
    opponents = [BOTS[BotLevel.BOT_LEVEL_EASY], BOTS[NORMAL]] * 10
    deals = [
        play_deal(settings(), bot, opponent, seed=4, number=n)
        for n, opponent in enumerate(opponents)
    ]
    assert estimate([deal.score for deal in deals]).mean > 0.55


def test_the_same_seed_gives_the_same_move() -> None:
    table = dealt_by_seed(settings(seats=3), 3)
    seat = seats_in(table.match.on_clock())[0]
    view, history = table.shown_to(seat)
    assert choose_move(HARD, view, history, 5) == choose_move(HARD, view, history, 5)
