"""The hard bot (R14.4): what it takes to be possible is, and its endings are exact."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from domain.bots import BOTS, choose_move, endgame_play, hard
from domain.bots.arena import estimate, play_deal
from domain.bots.card_memory import remember_cards
from domain.bots.determinization import Determinizer, SeededRandom
from domain.bots.endgame_play import exact_outcome, is_endgame, known_position
from domain.bots.evaluation import HAND_EVALUATORS
from domain.bots.packed_cards import Packed, pack_cards, pack_mask
from domain.bots.simulation import Simulation, Variant
from domain.cards import CARD_BY_NAME, cards_in, deck_cards
from domain.endgame import EndgameMove as Choice
from domain.endgame import MoveKind, Position, Role, evaluate_moves
from domain.match.move_messages import attack, transfer
from domain.match.view import redact, seats_in, table_view
from durak.v1.events_pb2 import Event
from durak.v1.settings_pb2 import BotLevel, Deck, Settings
from durak.v1.table_pb2 import PHASE_PLAYING, Move, TableView
from tests.domain.endgame_tables import ending
from tests.domain.random_play import all_settings, dealt_by_seed, step
from tests.domain.tables import LETTERS, Table, cards, dealt, settings

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


@pytest.mark.parametrize("index", range(3, 832, 166))
def test_every_world_agrees_with_what_the_seat_knows(index: int) -> None:
    wanted = list(all_settings())[index]
    deck = pack_cards(deck_cards(wanted.deck), 0).bit_count()
    for table, seat in moments(wanted, index):
        match = table.match
        view, history = seen(table, seat)
        memory = remember_cards(history, seat)
        world = Determinizer(view, memory).sample(SeededRandom(match.version))
        trump_suit = match.trump_suit
        assert world.hands[seat] == pack_mask(match.hands[seat], trump_suit)
        assert [hand.bit_count() for hand in world.hands] == memory.hand_sizes
        for hand, known in zip(world.hands, memory.known, strict=True):
            assert not pack_mask(known, trump_suit) & ~hand
        assert len(world.stock) == len(match.stock)
        if match.stock:  # drawn from the end: the trump card comes last
            assert world.stock[0] == pack_cards([match.trump_card], trump_suit)
        placed = [*world.hands, *world.stock, world.table, pack_mask(match.discard, trump_suit)]
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
        assert world.table == pack_mask(match.on_table, trump_suit)
        assert world.ranks & union(placed) == pack_mask(match.ranks_on_table, trump_suit) & union(
            placed
        )
        assert (world.taking, world.passed) == (match.taking, match.passed)


def union(parts: list[Packed]) -> Packed:
    whole = 0
    for part in parts:
        whole |= part
    return whole


def test_worlds_of_another_seed_are_other_worlds_and_of_the_same_the_same() -> None:
    table = dealt_by_seed(settings(), 1)
    view, history = seen(table, 0)
    worlds = Determinizer(view, remember_cards(history, 0))
    assert not worlds.is_unique
    hands = [worlds.sample(SeededRandom(seed)).hands[1] for seed in (1, 1, 2, 3)]
    assert hands[0] == hands[1]
    assert len(set(hands)) == 3


def test_every_unseen_card_is_as_likely_to_be_in_the_hand() -> None:
    """Of 29 unseen cards six are in the other hand; 3,000 draws are ±5 standard errors."""
    table = dealt_by_seed(settings(), 2)
    view, history = seen(table, 0)
    memory = remember_cards(history, 0)
    worlds, chance = Determinizer(view, memory), SeededRandom(77)
    hands = [worlds.sample(chance).hands[1] for _ in range(3000)]
    for card in cards_in(memory.unseen):
        held = sum(bool(hand & pack_cards([card], table.match.trump_suit)) for hand in hands)
        assert abs(held / 3000 - 6 / 29) < 0.037


def test_a_card_that_a_hand_seems_to_be_missing_is_believed_to_be_elsewhere() -> None:
    """B took 6♥ and so seems to have no heart, of which A has not seen eight.

    Without that each would be in B's hand in 6 of 28 worlds: B holds 6 of the 28 unseen cards. As
    it is, in a fifth of that and a little more, for a heart can come for another heart. 1,000 draws
    of eight cards are within 0.02 of the mean by 5 standard errors.
    """
    table = dealt("6♠ 6♥ 6♦ 6♣ 9♦ 9♣", "7♣ 7♦ 8♦ 8♣ 10♦ J♦", trump="A♠", stock="J♣")
    table.play("A: 6♥", "B: take", "A: pass")
    view, history = seen(table, 0)
    memory = remember_cards(history, 0)
    worlds, chance = Determinizer(view, memory), SeededRandom(5)
    hearts = pack_cards(cards("7♥ 8♥ 9♥ 10♥ J♥ Q♥ K♥ A♥"), table.match.trump_suit)
    held = sum((worlds.sample(chance).hands[1] & hearts).bit_count() for _ in range(1000))
    assert 0.2 * 6 / 28 - 0.02 < held / 8000 < 0.2 * 6 / 28 + 0.03


# --- appraisal ----------------------------------------------------------------------------------


def chance_of(hand: str, other: str, stock: int, deck: Deck.ValueType = Deck.DECK_36) -> float:
    """What the first of two seats, who leads, may hope for; spades are trumps."""
    hands = [pack_cards(cards(words), 3) for words in (hand, other)]
    world = Simulation(hands, [1] * stock, 0, Variant())
    chance, other_chance = (HAND_EVALUATORS[deck].survival_chance(world, seat) for seat in (0, 1))
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
        bouts_without_discard=match.dry_bouts,
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
    for number in range(5):
        for table, seat in moments(wanted, number):
            view, history = seen(table, seat)
            choices = len(view.moves.attack) + len(view.moves.defend) + view.moves.can_take
            if not is_endgame(view) or choices + view.moves.can_pass < 2:
                continue
            exact = true_position(table)
            assert known_position(view, remember_cards(history, seat)) == exact
            cards_in_play = exact.attacker_hand | exact.defender_hand
            if cards_in_play.bit_count() > 8:
                continue
            values = evaluate_moves(exact)
            chosen = as_choice(choose_move(HARD, view, history, number))
            assert values[chosen].value == max(found.value for found in values.values())
            judged += 1
    assert judged > 5


def hard_move(table: Table, letter: str) -> Move:
    return choose_move(HARD, *seen(table, LETTERS.index(letter)), 1)


def test_R15_the_hard_bot_transfers_for_a_draw_rather_than_take() -> None:
    """A has led 6♥ and holds 7♥ 9♣; spades are trumps.

    If B takes, A lays 7♥ and then 9♣, which neither 6♣ nor 6♥ nor 7♥ beats, and is out. Once B has
    transferred with 6♣ both hands run empty.
    """
    table = ending("6♥ 7♥ 9♣", "6♣", trump="♠", transfer=True)
    table.play("A: 6♥")
    assert hard_move(table, "B") == transfer(CARD_BY_NAME["6♣"])
    table.play("B: transfer 6♣")
    # To beat both cards is the draw; if A took them, B would be out.
    assert hard_move(table, "A").WhichOneof("kind") == "defend"


def test_R14_4_the_hard_bot_leads_a_trump_where_that_wins() -> None:
    """A holds 7♥ and the trump 6♠, B 8♥ 9♣.

    After 7♥ from A, B beats it and leads 9♣, which A beats with the last card: a draw. After 6♠, B
    has to take; then 7♥ is A's last card, and B has cards left whatever B does.
    """
    table = ending("7♥ 6♠", "8♥ 9♣", trump="♠")
    assert hard_move(table, "A") == attack(CARD_BY_NAME["6♠"])
    assert choose_move(NORMAL, *seen(table, 0), 1) == attack(CARD_BY_NAME["7♥"])


def outcomes(attacker: str, defender: str, *, draw_allowed: bool = True) -> tuple[object, object]:
    """What the attacker and the defender come to; spades are trumps, seat 1 attacks."""
    hands = [pack_cards(cards(words), 3) for words in (defender, attacker)]
    world = Simulation(hands, [], 1, Variant(draw_allowed=draw_allowed))
    return exact_outcome(world, 1, 3), exact_outcome(world, 0, 3)


def test_R15_the_ends_of_play_outs_are_exact() -> None:
    assert outcomes("6♥", "7♥") == (0.5, 0.5)
    assert outcomes("6♥", "7♥", draw_allowed=False) == (1, 0)  # R9.4
    assert outcomes("6♥", "7♥ K♣ 8♦") == (1, 0)
    assert outcomes("7♥ 6♠", "8♥ 9♣") == (1, 0)  # as in the test above
    assert outcomes("A♥ 8♣ 9♦", "6♠") == (0, 1)


# --- play ---------------------------------------------------------------------------------------


def test_R14_4_the_hard_bot_beats_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even with a fraction of its thought. These deals are always the same ones.

    What full thought reaches over thousands of deals stands in docs/bots.md.
    """
    monkeypatch.setattr(hard, "PLAYOUT_BOUTS_MAX", 200)
    monkeypatch.setattr(endgame_play, "POSITIONS_MAX", 1000)
    opponents = [BOTS[BotLevel.BOT_LEVEL_EASY], BOTS[NORMAL]] * 10
    deals = [
        play_deal(settings(), BOTS[HARD], opponent, seed=4, number=n)
        for n, opponent in enumerate(opponents)
    ]
    assert estimate([deal.score for deal in deals]).mean > 0.55


def test_the_same_seed_gives_the_same_move() -> None:
    table = dealt_by_seed(settings(seats=3), 3)
    seat = seats_in(table.match.on_clock())[0]
    view, history = seen(table, seat)
    assert choose_move(HARD, view, history, 5) == choose_move(HARD, view, history, 5)
