"""The solver against a plain, independent minimax."""

from __future__ import annotations

import os
import random

import pytest

from domain.endgame import (
    EndgameMove,
    MoveKind,
    Position,
    Role,
    evaluate_moves,
    legal_moves,
    solve,
)
from tests.domain.endgame import minimax as ref

SWEEP = int(os.environ.get("DURAK_TEST_ENDGAME_SWEEP", "1"))
"""Multiplies the number of positions to compare."""

KINDS = {
    "attack": MoveKind.ATTACK,
    "defend": MoveKind.DEFEND,
    "transfer": MoveKind.TRANSFER,
    "take": MoveKind.TAKE,
    "pass": MoveKind.PASS,
    "wait": MoveKind.WAIT,
}


def bit(card: ref.Card | None) -> int:
    return 1 << 13 * card[0] + card[1] - 2 if card else 0


def mask(cards: ref.Hand) -> int:
    return sum(bit(card) for card in cards)


def as_position(b: ref.Bout, table: ref.Table) -> Position:
    return Position(
        attacker_hand=mask(b.attacker),
        defender_hand=mask(b.defender),
        trump_suit=table.trump,
        unbeaten=mask(b.unbeaten),
        beaten=mask(b.covered | b.covers),
        taking=b.taking,
        turn=Role.DEFENDER if b.waited else Role.ATTACKER,
        transfer=table.transfer,
        draw_allowed=table.draws,
        five_card_limit=b.five,
        bouts_without_discard=b.quiet,
        attacker_seat=b.me,
        defender_seat=1 - b.me,
    )


def random_bout(
    rng: random.Random, table: ref.Table, *, lowest: int, cards: int, quiet: int = 0
) -> ref.Bout:
    """A bout with ``cards`` cards in total and up to six moves made.

    More than half of the bouts have cards of three ranks only, so that ranks repeat.
    """
    ranks = list(range(lowest, 15))
    if rng.random() < 0.6:
        ranks = rng.sample(ranks, 3)
    deck = [(suit, rank) for suit in range(4) for rank in ranks]
    hand = rng.sample(deck, cards)
    cut = rng.randint(1, cards - 1)
    b = ref.new_bout(
        rng.randrange(2),
        frozenset(hand[:cut]),
        frozenset(hand[cut:]),
        five=rng.random() < 0.3,
        quiet=quiet,
    )
    for _ in range(rng.choice([0, 0, 1, 2, 3, 4, 5, 6])):
        after = rng.choice(list(ref.successors(b, table).values()))
        if not isinstance(after, ref.Bout) or after.quiet != b.quiet:
            break
        b = after
    return b


def compare(b: ref.Bout, table: ref.Table) -> None:
    """Compare the values of the position and of each move."""
    position = as_position(b, table)
    seat = ref.mover(b)
    expected = {
        EndgameMove(KINDS[kind], bit(card), bit(target)): ref.value(after, table, seat)
        for (kind, card, target), after in ref.successors(b, table).items()
    }
    assert set(legal_moves(position)) == set(expected), position
    found = evaluate_moves(position)
    assert all(move.exact for move in found.values())
    assert {move: int(v.value) for move, v in found.items()} == expected, position
    solution = solve(position)
    assert solution.exact
    assert solution.value == max(expected.values()), position
    assert expected[solution.best_move] == solution.value, position


@pytest.mark.parametrize("lowest", [9, 6, 2], ids=["24", "36", "52"])
@pytest.mark.parametrize("draws", [True, False], ids=["draws", "no-draws"])
@pytest.mark.parametrize("transfer", [False, True], ids=["podkidnoy", "perevodnoy"])
@pytest.mark.parametrize(("cards", "count"), [(4, 150), (5, 200), (6, 150), (7, 80)])
def test_R14_4_the_solver_agrees_with_minimax(
    transfer: bool, draws: bool, lowest: int, cards: int, count: int
) -> None:
    rng = random.Random(f"{transfer} {draws} {lowest} {cards}")
    for _ in range(count * SWEEP):
        table = ref.Table(rng.randrange(4), transfer, draws)
        compare(random_bout(rng, table, lowest=lowest, cards=cards), table)


def test_R5_1_without_transfers_it_does_not_matter_which_seat_acts_first() -> None:
    rng = random.Random(51)
    for number in range(200 * SWEEP):
        table = ref.Table(rng.randrange(4), transfer=False, draws=bool(number % 2), eager=True)
        compare(random_bout(rng, table, lowest=6, cards=rng.randint(4, 6)), table)


@pytest.mark.parametrize("transfer", [False, True], ids=["podkidnoy", "perevodnoy"])
@pytest.mark.parametrize("quiet", [46, 47, 48, 49])
def test_R9_5_the_solver_agrees_with_minimax_near_the_fifty_bout_draw(
    transfer: bool, quiet: int
) -> None:
    rng = random.Random(f"{transfer} {quiet}")
    for number in range(60 * SWEEP):
        table = ref.Table(rng.randrange(4), transfer, draws=bool(number % 2), counted=True)
        b = random_bout(
            rng, table, lowest=9, cards=rng.randint(3, 6 if quiet > 47 else 5), quiet=quiet
        )
        compare(b, table)
