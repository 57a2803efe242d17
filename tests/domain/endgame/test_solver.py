"""Endgames worked out by hand, the fifty-bout draw, and the budget."""

from __future__ import annotations

import random
from typing import Any

import pytest

from domain.endgame import (
    EndgameMove,
    MoveKind,
    Position,
    Role,
    Terminal,
    Value,
    apply_move,
    evaluate_moves,
    legal_moves,
    solve,
)

SUITS = "♣♦♥♠"
RANKS = ["2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A"]


def cards(text: str) -> int:
    """The mask of cards in written form, such as ``6♥ 10♠``."""
    return sum(1 << 13 * SUITS.index(c[-1]) + RANKS.index(c[:-1]) for c in text.split())


def attack(card: str) -> EndgameMove:
    return EndgameMove(MoveKind.ATTACK, cards(card))


def defend(card: str, target: str) -> EndgameMove:
    return EndgameMove(MoveKind.DEFEND, cards(card), cards(target))


TAKE, PASS, WAIT = (
    EndgameMove(MoveKind.TAKE),
    EndgameMove(MoveKind.PASS),
    EndgameMove(MoveKind.WAIT),
)


def position(attacker: str, defender: str, unbeaten: str = "", **settings: int) -> Position:
    """A position with spades as trumps. With cards to beat, by default the defender moves."""
    settings.setdefault("turn", Role.DEFENDER if unbeaten else Role.ATTACKER)
    return Position(cards(attacker), cards(defender), 3, cards(unbeaten), **settings)  # type: ignore[arg-type]


def line(start: Position, *moves: EndgameMove) -> Position | Terminal:
    """The position or result after these moves."""
    state: Position | Terminal = start
    for move in moves:
        assert isinstance(state, Position)
        state = apply_move(state, move)
    return state


A_WINS, B_WINS, DRAW = Terminal(0), Terminal(1), Terminal(None)


@pytest.mark.parametrize(
    ("attacker", "defender", "moves", "result"),
    [
        ("6♥", "7♥", [attack("6♥"), WAIT, defend("7♥", "6♥")], DRAW),
        ("6♥", "7♥ K♣ 8♦", [attack("6♥"), WAIT, defend("7♥", "6♥")], A_WINS),
        ("6♥", "7♣", [attack("6♥"), WAIT, TAKE], A_WINS),
        ("A♥", "6♠", [attack("A♥"), WAIT, defend("6♠", "A♥")], DRAW),
        ("A♥ 8♣ 9♦", "6♠", [attack("A♥"), WAIT, defend("6♠", "A♥")], B_WINS),
    ],
)
def test_R15_worked_endings(
    attacker: str, defender: str, moves: list[EndgameMove], result: Terminal
) -> None:
    assert line(position(attacker, defender), *moves) == result


def test_R15_last_transfer_is_a_draw() -> None:
    start = position("7♥ 9♣", "6♣", "6♥", transfer=True)
    transfer = EndgameMove(MoveKind.TRANSFER, cards("6♣"))
    moves = [transfer, WAIT, defend("7♥", "6♥"), WAIT, defend("9♣", "6♣")]
    assert line(start, *moves) == DRAW


@pytest.mark.parametrize(
    ("attacker", "defender", "value", "without_draws"),
    [
        # A's only card is beaten by B's only card. If B takes, B loses.
        ("6♥", "7♥", Value.DRAW, Value.WIN),
        # A is out after this bout for any move of B, and B has cards left.
        ("6♥", "7♥ K♣ 8♦", Value.WIN, Value.WIN),
        ("6♥", "7♣", Value.WIN, Value.WIN),
        ("A♥", "6♠", Value.DRAW, Value.WIN),
        # B beats any lead with 6♠ and is out while A holds two cards.
        ("A♥ 8♣ 9♦", "6♠", Value.LOSS, Value.LOSS),
    ],
)
def test_R15_the_solver_finds_the_results_of_the_worked_endings(
    attacker: str, defender: str, value: Value, without_draws: Value
) -> None:
    assert solve(position(attacker, defender)).value == value
    assert solve(position(attacker, defender, draw_allowed=False)).value == without_draws


def test_R15_the_last_transfer_draws_and_taking_loses() -> None:
    # After the take B holds 6♥ 6♣ against 7♥ 9♣. B beats neither 7♥ nor then 9♣, and A goes out.
    found = evaluate_moves(position("7♥ 9♣", "6♣", "6♥", transfer=True))
    values = {move.kind: entry.value for move, entry in found.items()}
    assert values == {MoveKind.TRANSFER: Value.DRAW, MoveKind.TAKE: Value.LOSS}


def test_R6_2_a_lead_is_judged_by_the_transfer_that_answers_it() -> None:
    # After 6♦ B transfers with 6♣ at once, and A faces two sixes, of which only 6♠ is left to beat
    # one. A card added to 6♦ would prevent the transfer, but only if B let A add it.
    hands = cards("6♦ 10♦ J♦ 6♠"), cards("6♣ J♣")
    leads = evaluate_moves(Position(*hands, 2, transfer=True))
    assert {move: entry.value for move, entry in leads.items() if entry.value > Value.LOSS} == {
        attack("10♦"): Value.WIN
    }
    answers = evaluate_moves(
        Position(
            hands[0] ^ cards("6♦"), hands[1], 2, cards("6♦"), turn=Role.DEFENDER, transfer=True
        )
    )
    assert answers[EndgameMove(MoveKind.TRANSFER, cards("6♣"))].value is Value.WIN
    assert all(entry.exact for entry in (*leads.values(), *answers.values()))


def test_R9_4_without_draws_the_defender_of_the_last_bout_loses() -> None:
    start = position("6♥", "7♥", draw_allowed=False)
    assert line(start, attack("6♥"), WAIT, defend("7♥", "6♥")) == A_WINS
    # After the transfer A defends, plays the last card and loses.
    start = position("7♥ 9♣", "6♣", "6♥", transfer=True, draw_allowed=False)
    assert solve(start).value == Value.WIN


def test_R6_2_an_early_throw_in_prevents_a_transfer() -> None:
    # A leads 6♥ and keeps 6♦ K♠. B can transfer with 6♣: two attack cards against a hand of two.
    # If A throws in 6♦ first, a transfer would be three attack cards against a hand of one.
    start = position("6♦ K♠", "6♣ 7♣ 8♣", "6♥", transfer=True, turn=Role.ATTACKER)
    assert EndgameMove(MoveKind.TRANSFER, cards("6♣")) in legal_moves(play_on(start, WAIT))
    assert EndgameMove(MoveKind.TRANSFER, cards("6♣")) not in legal_moves(
        play_on(start, attack("6♦"), WAIT)
    )


def play_on(start: Position, *moves: EndgameMove) -> Position:
    state = line(start, *moves)
    assert isinstance(state, Position)
    return state


def test_R4_3_cap_counts_the_hand_at_the_start_of_the_bout() -> None:
    # B had two cards. After one beaten and one unbeaten six the cap is reached.
    start = position("6♣ 6♦ 6♥ 9♣", "7♣ 7♦")
    after = play_on(start, attack("6♣"), WAIT, defend("7♣", "6♣"), attack("6♦"))
    assert after.attack_cards_allowed() == 0
    assert legal_moves(after) == [WAIT]
    # The cap closes the bout (R7.3). B is out and A is not.
    assert line(after, WAIT, defend("7♦", "6♦")) == B_WINS


def test_R4_3_five_card_opening_holds_until_a_defence_succeeds() -> None:
    hand = "7♣ 7♦ 7♥ 8♣ 8♦ 8♥ 9♣"
    start = position(hand, "10♣ 10♦ 10♥ J♣ J♦ J♥ 9♥", five_card_limit=True)
    assert start.attack_cards_allowed() == 5
    assert play_on(start, attack("7♣"), WAIT, TAKE, PASS).attack_cards_allowed() == 5
    beaten = play_on(start, attack("7♣"), WAIT, defend("10♣", "7♣"), PASS)
    assert beaten.attack_cards_allowed() == 6


def test_R9_5_the_fiftieth_bout_without_a_discard_is_a_draw() -> None:
    # B beats neither club. Two leads win, unless the first take is the fiftieth bout without a
    # discard.
    assert solve(position("7♣ 9♣", "6♥ 8♥", bouts_without_discard=48)).value == Value.WIN
    assert solve(position("7♣ 9♣", "6♥ 8♥", bouts_without_discard=49)).value == Value.DRAW
    last = line(
        position("7♣ 9♣", "6♥ 8♥", bouts_without_discard=49), attack("7♣"), WAIT, TAKE, PASS
    )
    assert last == DRAW


def test_R9_3_going_out_in_the_fiftieth_bout_still_wins() -> None:
    start = position("7♣", "6♥ 8♥", bouts_without_discard=49)
    assert solve(start).value == Value.WIN


def test_R9_5_a_discard_resets_the_count() -> None:
    start = position("7♣ 9♦", "8♣ 6♥ 6♦", bouts_without_discard=49)
    after = play_on(start, attack("7♣"), WAIT, defend("8♣", "7♣"), PASS)
    assert after.bouts_without_discard == 0


SIX_AND_SIX = position("6♣ 8♦ 9♥ J♣ Q♦ 7♠", "7♣ 8♥ 10♦ J♥ K♦ 9♠")


@pytest.mark.parametrize("budget", [0, 1, 10, 100])
@pytest.mark.parametrize("transfer", [False, True])
def test_every_budget_is_respected_and_gets_an_answer(budget: int, transfer: bool) -> None:
    start = position("6♣ 8♦ 9♥ J♣ Q♦ 7♠ 9♦", "7♣ 8♥ 10♦ J♥ K♦ 9♠ 6♦", transfer=transfer)
    found = solve(start, budget=budget)
    assert found.best_move in legal_moves(start)
    assert found.visited <= budget
    values = evaluate_moves(start, budget=budget)
    assert list(values) == legal_moves(start)


@pytest.mark.parametrize("transfer", [False, True])
def test_a_value_that_is_exact_within_a_budget_is_the_true_value(transfer: bool) -> None:
    start = position("6♣ 8♦ 9♥ J♣ 7♠", "7♣ 8♥ 10♦ J♥ 9♠", transfer=transfer)
    whole = evaluate_moves(start)
    assert all(entry.exact for entry in whole.values())
    best = max(entry.value for entry in whole.values())
    exact = 0
    budgets = [0, 30, 100, 300, 1_000, 3_000, 10_000, 30_000]
    for budget in budgets:
        for move, entry in evaluate_moves(start, budget=budget).items():
            assert not entry.exact or entry.value == whole[move].value
        found = solve(start, budget=budget)
        assert not found.exact or (found.value == best == whole[found.best_move].value)
        exact += found.exact
    assert 0 < exact < len(budgets)


def test_with_a_budget_of_0_nothing_is_exact() -> None:
    assert not solve(SIX_AND_SIX, budget=0).exact
    assert solve(SIX_AND_SIX).exact


@pytest.mark.parametrize(
    "broken",
    [
        {"attacker": "6♥", "defender": "6♥"},  # one card in two places
        {"attacker": "", "defender": "6♥"},  # over (R9.1)
        {"attacker": "6♥", "defender": "7♥", "turn": Role.DEFENDER},  # nothing to beat
        {"attacker": "6♥", "defender": "7♥", "unbeaten": "8♥ 9♥"},  # beyond the cap (R4.3)
        {"attacker": "6♥", "defender": "7♥", "bouts_without_discard": 50},  # drawn (R9.5)
    ],
)
def test_positions_that_no_bout_can_reach_are_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        position(**broken)


def test_illegal_moves_are_refused() -> None:
    with pytest.raises(ValueError, match="not legal"):
        apply_move(position("6♥", "7♥"), attack("7♥"))


def test_R9_5_with_transfers_the_searches_with_and_without_a_count_agree() -> None:
    # TransferSearch and CountdownSearch track runs independently of each other. Five bouts before
    # the draw only the second is used. A win or loss that it finds is the same at any lower count.
    rng = random.Random(95)
    decided = 0
    for _ in range(60):
        ranks = rng.sample(range(4, 13), 4)
        dealt = rng.sample([1 << 13 * suit + rank for suit in range(4) for rank in ranks], 9)
        hands = sum(dealt[:4]), sum(dealt[4:])
        early = solve(Position(*hands, 3, transfer=True))
        late = solve(Position(*hands, 3, transfer=True, bouts_without_discard=45))
        assert early.exact
        assert late.exact
        assert late.value in (early.value, Value.DRAW)
        decided += late.value != Value.DRAW
    assert decided > 40
