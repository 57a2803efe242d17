"""The bots (R14): they follow the rules, see only what their seat sees, and play to their level.

`DURAK_TEST_BOT_MATCHES` is the number of matches that each level plays, without a time limit. The
default is quick.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from domain.bots import (
    BOTS,
    Bot,
    choose_challenge,
    choose_move,
    hard,
    move_seed,
    off_clock_seat,
)
from domain.bots.arena import BotMatch, estimate, play_deal
from domain.bots.hard import Budget
from domain.bots.legality import illegal_plays
from domain.bots.normal import policy_move
from domain.bots.packed_cards import SAME_RANK, pack_cards, unpack
from domain.bots.policy import NORMAL
from domain.cards import CARD_BY_NAME, Card, card_name
from domain.match.move_messages import attack, challenge, list_moves
from durak.v1.events_pb2 import Dealt, Event, Outcome, Record
from durak.v1.settings_pb2 import BotLevel, Settings
from durak.v1.table_pb2 import PHASE_PLAYING, Move, TableView
from tests.domain.random_play import all_settings, dealt_by_seed, step
from tests.domain.tables import Table, cards, dealt, settings

EASY = BotLevel.BOT_LEVEL_EASY
NORMAL_LEVEL = BotLevel.BOT_LEVEL_NORMAL
HARD = BotLevel.BOT_LEVEL_HARD
SPADES = 3
FREE = [wanted for wanted in all_settings() if not wanted.stake_coins]
MATCHES = os.environ.get("DURAK_TEST_BOT_MATCHES")
LIMIT_SECONDS = 0 if MATCHES else 120  # 0: none


def server_seed(number: int) -> bytes:
    return number.to_bytes(32, "big")


def checked(bot: Bot) -> Bot:
    """The bot, whose moves must all be legal moves of its view."""

    def choose_move(view: TableView, history: Sequence[Event], seed: int) -> Move:
        move = bot.choose_move(view, history, seed)
        challenged = move.challenge.play_version in view.moves.challenge
        assert move in list_moves(view.moves) or challenged, move
        return move

    return replace(bot, choose_move=choose_move)


FAST: dict[BotLevel.ValueType, Bot] = dict(BOTS) | {
    HARD: replace(BOTS[HARD], choose_move=partial(hard.choose_move, budget=Budget(20, 300)))
}
"""The bots, with a small budget for the hard one: its moves are worse, and more matches fit into
the time."""


# --- rules --------------------------------------------------------------------------------------


def some_of(wanted: Sequence[Settings], few: int) -> list[tuple[int, Settings]]:
    """Numbered settings, ``few`` or as many as the environment says, spread evenly."""
    count = int(MATCHES) if MATCHES else few
    return [(n, wanted[n * len(wanted) // count % len(wanted)]) for n in range(count)]


@pytest.mark.timeout(LIMIT_SECONDS)
@pytest.mark.parametrize(("level", "few"), [(EASY, 60), (NORMAL_LEVEL, 60), (HARD, 6)])
def test_bots_play_to_the_end_with_legal_moves_in_all_settings(
    level: BotLevel.ValueType, few: int
) -> None:
    for number, wanted in some_of(FREE, few):
        players = [checked(FAST[level])] * wanted.seats
        match = BotMatch(wanted, players, server_seed(number), range(wanted.seats))
        assert match.play().outcome in (Outcome.OUTCOME_PLAYED_OUT, Outcome.OUTCOME_DRAW)


@pytest.mark.timeout(LIMIT_SECONDS)
@pytest.mark.parametrize(("level", "few"), [(EASY, 5), (NORMAL_LEVEL, 5), (HARD, 2)])
def test_R14_5_bots_never_cheat_and_never_challenge_a_legal_play(
    level: BotLevel.ValueType, few: int
) -> None:
    """The other players cheat at random. The bot's moves are legal for any table."""
    chance = random.Random(level)
    for number, wanted in some_of([wanted for wanted in FREE if wanted.tricky], few):
        table = dealt_by_seed(wanted, number)
        while table.match.phase == PHASE_PLAYING:
            for seat in range(wanted.seats):
                if table.match.on_clock() >> seat & 1:
                    move = checked(FAST[level]).choose_move(
                        *table.shown_to(seat), chance.getrandbits(64)
                    )
                    accuses = move.HasField("challenge")
                    assert not accuses or move.challenge.play_version in table.match.cheats
            table.store(step(table, chance))


# --- hidden cards -------------------------------------------------------------------------------


def swapped(deal: Dealt, one: Card, other: Card) -> Dealt:
    """The same deal with two cards exchanged."""
    places = {one: other, other: one}
    twin = Dealt(trump_card=deal.trump_card, first_attacker=deal.first_attacker)
    twin.hands.extend(deal.hands)
    for hand in twin.hands:
        hand.cards[:] = [places.get(card, card) for card in hand.cards]
    twin.stock[:] = [places.get(card, card) for card in deal.stock]
    return twin


def with_deal(table: Table, deal: Dealt, upto: int) -> Table:
    """The same match from another deal: the same commands, with the draws of this deal."""
    twin = Table()
    for record in table.records[:upto]:
        copy = Record()
        copy.CopyFrom(record)
        if record.event.HasField("dealt"):
            copy.event.dealt.CopyFrom(deal)
        elif record.event.HasField("drew"):
            draws = twin.match.draws_due()
            for draw, (_, drawn) in zip(copy.event.drew.draws, draws, strict=True):
                draw.cards[:] = drawn
        twin.match.apply(copy)
        twin.records.append(copy)
    return twin


@pytest.mark.parametrize("level", BOTS)
@pytest.mark.parametrize("seats", [2, 3, 4])
def test_R14_1_hidden_cards_do_not_change_the_move(level: BotLevel.ValueType, seats: int) -> None:
    compared = 0
    for number in range(20):
        wanted = settings(seats=seats, transfer=bool(number % 2), tricky=number % 5 == 0)
        table = dealt_by_seed(wanted, number)
        chance = random.Random(number)
        for _ in range(25):
            table.store(step(table, chance))
        match = table.match
        if match.phase != PHASE_PLAYING:
            continue
        seat = (match.on_clock() & -match.on_clock()).bit_length() - 1
        deal = next(r.event.dealt for r in table.records if r.event.HasField("dealt"))
        shown = {c for record in table.records for c in open_cards(record.event, seat)}
        held = [c for h in deal.hands if h.seat != seat for c in h.cards if c not in shown]
        stock = [c for c in deal.stock if c not in shown and c != deal.trump_card]
        if not held or not stock:
            continue
        twin = with_deal(table, swapped(deal, held[0], stock[-1]), len(table.records))
        if (twin.match.hands, twin.match.stock) == (match.hands, match.stock):
            continue  # both cards are in the same hand by now
        view, history = table.shown_to(seat)
        assert (view, history) == twin.shown_to(seat)
        choose = FAST[level].choose_move
        assert choose(view, history, 7) == choose(*twin.shown_to(seat), 7)
        compared += 1
    assert compared > 5


def open_cards(event: Event, seat: int) -> list[Card]:
    """The cards that an event shows to a seat. The deal is not considered."""
    match event.WhichOneof("kind"):
        case "attacked":
            return [event.attacked.card]
        case "defended":
            return [event.defended.card]
        case "transferred":
            return [event.transferred.card]
        case "drew":
            return [c for draw in event.drew.draws if draw.seat == seat for c in draw.cards]
        case _:
            return []


@pytest.mark.parametrize("level", BOTS)
def test_the_same_seed_gives_the_same_match(level: BotLevel.ValueType) -> None:
    players = [FAST[level], FAST[EASY]]
    one, other = (BotMatch(settings(), players, server_seed(5), (1, 2)) for _ in range(2))
    assert one.play() == other.play()
    assert one.histories == other.histories


def test_every_move_has_its_own_seed() -> None:
    assert move_seed(1, 10) != move_seed(1, 11) != move_seed(2, 11)


# --- tricky tables ------------------------------------------------------------------------------


def test_R11_1_illegal_plays_are_found_from_open_cards() -> None:
    tricky = [wanted for wanted in FREE if wanted.tricky]
    chance = random.Random(11)
    found = 0
    for number, wanted in enumerate(tricky[::50]):
        table = dealt_by_seed(wanted, number)
        while table.match.phase == PHASE_PLAYING:
            match = table.match
            for seat in range(wanted.seats):
                if match.in_play >> seat & 1:
                    others = {v for by, v in match.laid.values() if by != seat}
                    assert illegal_plays(*table.shown_to(seat)) == sorted(match.cheats & others)
                    found += len(match.cheats & others)
            table.store(step(table, chance))
    assert found > 40


def cheated_table() -> Table:
    """A has led a six and B has "beaten" it with a card that does not."""
    table = dealt("6♠ 6♥ 7♥ 8♥ 9♥ 10♥", "7♠ 8♠ 6♣ 7♣ 8♣ 9♣", trump="A♠", tricky=True)
    table.play("A: 6♥", "B: 9♣ beats 6♥")
    return table


def test_R14_5_easy_bots_never_challenge_normal_bots_sometimes_hard_bots_always() -> None:
    view, history = cheated_table().shown_to(0)
    accused = view.table[0].defence.version
    chosen = {
        level: [choose_move(level, view, history, seed) for seed in range(40)] for level in BOTS
    }
    assert not any(move.HasField("challenge") for move in chosen[EASY])
    challenges = [m for m in chosen[NORMAL_LEVEL] if m.HasField("challenge")]
    assert 0 < len(challenges) < 40
    assert {move.challenge.play_version for move in challenges} == {accused}
    assert chosen[HARD] == [challenge(accused)] * 40


def throw_onto_takes(view: TableView, history: Sequence[Event], seed: int) -> Move:
    """The hard bot, but it also throws illegal cards onto every declared take."""
    illegal = [card for card in view.hand if card not in view.moves.attack]
    if view.taking and view.your_seat != view.defender and view.attacks_left and illegal:
        return attack(illegal[0])
    return FAST[HARD].choose_move(view, history, seed)


def test_R11_5_a_player_who_cheats_onto_every_take_loses_to_the_hard_bot() -> None:
    cheater = replace(FAST[HARD], choose_move=throw_onto_takes)
    deals = [
        play_deal(settings(tricky=True), cheater, FAST[HARD], seed=2, number=n) for n in range(12)
    ]
    assert estimate([deal.score for deal in deals]).mean < 0.3


def test_R11_5_a_bot_off_the_clock_challenges_a_card_thrown_onto_its_take() -> None:
    table = dealt("6♠ 6♥ 7♥ 8♥ 9♥ 10♥", "7♠ 8♠ 6♣ 7♣ 8♣ 9♣", trump="A♠", tricky=True)
    assert off_clock_seat(table.match) is None
    table.play("A: 7♥", "B: take")
    assert off_clock_seat(table.match) == 1
    assert choose_challenge(HARD, *table.shown_to(1), 0) is None  # a legal lead
    table.play("A: 8♥")
    thrown = challenge(table.match.version)
    assert choose_challenge(HARD, *table.shown_to(1), 1) == thrown
    assert choose_challenge(EASY, *table.shown_to(1), 0) is None
    assert [choose_challenge(NORMAL_LEVEL, *table.shown_to(1), seed) for seed in (0, 1)] == [
        thrown,
        None,
    ]


# --- the normal bot (R14.3) ---------------------------------------------------------------------


def answer(hand: str, attack: str, stock: int) -> str:
    """The card with which the normal bot beats an attack. Spades are trumps."""
    led = pack_cards(cards(attack), SPADES)
    plan = NORMAL.for_stock(stock, 2).defend(
        pack_cards(cards(hand), SPADES), [led], led, SAME_RANK[led]
    )
    return card_name(unpack(plan[0][1], SPADES)) if plan else "take"


def test_R14_3_the_normal_bot_saves_trumps_while_there_is_a_stock() -> None:
    hand = "A♠ 6♣ 7♣ 8♣ 9♦ 10♦"
    assert answer(hand, "6♥", stock=20) == "take"
    assert answer(hand, "6♥", stock=0) == "A♠"
    assert answer("8♥ " + hand, "6♥", stock=20) == "8♥"


def throws(
    fitting: str, stock: int, *, taking: bool = False, weak: str = "", in_play: int = 2
) -> str:
    phase, packed = NORMAL.for_stock(stock, in_play), pack_cards(cards(fitting), SPADES)
    card = (
        phase.add_to_take(packed)
        if taking
        else phase.throw_in(packed, pack_cards(cards(weak), SPADES))
    )
    return card_name(unpack(card, SPADES)) if card else "pass"


def test_R14_3_the_normal_bot_throws_in_low_cards_but_no_trumps_while_there_is_a_stock() -> None:
    assert throws("9♣ A♣", stock=20) == "9♣"
    assert throws("9♠", stock=20) == "pass"
    assert throws("9♠", stock=0) == "9♠"
    assert throws("6♠", stock=20, taking=True) == "pass"


@pytest.mark.parametrize("stock", [0, 5])
def test_R14_3_among_many_seats_the_normal_bot_throws_in_plain_cards_but_no_trumps(
    stock: int,
) -> None:
    assert throws("6♠", stock, in_play=3) == "6♠"
    assert throws("6♠", stock, in_play=4) == "pass"
    assert throws("A♣ 6♠", stock, in_play=6) == "A♣"


def test_R14_3_the_normal_bot_prefers_to_throw_in_where_the_defender_seems_weak() -> None:
    assert throws("9♣ 9♥", stock=20, weak="9♥") == "9♥"
    assert throws("9♣ 9♥", stock=20, weak="9♣") == "9♣"


def test_R14_3_a_trump_spent_on_a_plain_card_shows_weakness_in_its_suit() -> None:
    table = dealt("6♠ 7♥ 9♥ 9♣ J♣ Q♣", "7♠ 9♠ 6♣ 7♣ 8♣ 9♦", trump="A♠")
    table.play("A: 7♥", "B: 9♠ beats 7♥")
    view, _ = table.shown_to(0)
    assert policy_move(view, NORMAL) == attack(CARD_BY_NAME["9♥"])  # and not 9♣
