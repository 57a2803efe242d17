"""Reviews of endgame moves, in endgames worked out by hand."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from domain.endgame import MoveKind, Position, Role, Terminal, Value, apply_move, legal_moves
from domain.endgame.conversion import to_move_message
from domain.endgame.review import MoveReview, endgame_moves, review_move
from durak.v1.events_pb2 import ActorKind
from durak.v1.table_pb2 import Move
from tests.domain.endgame_tables import endgame_table
from tests.domain.random_play import dealt_by_seed, play_out
from tests.domain.tables import Table, move_of, opened, settings

BUDGET = 100_000
WIN, DRAW, LOSS = Value.WIN, Value.DRAW, Value.LOSS


def reviewed(table: Table, last: int) -> list[tuple[str, MoveReview]]:
    """The last moves of a match: the seat that made each, and its review."""
    played = endgame_moves(table.records)[-last:]
    return [("AB"[one.seat], review_move(one, BUDGET)) for one in played]


def better(judged: MoveReview) -> Move | None:
    return None if judged.better is None else to_move_message(judged.better)


def test_R15_taking_instead_of_beating_gives_a_draw_away() -> None:
    table = endgame_table("A♥", "6♠", trump="♠")
    beat = move_of(table.match, "6♠ beats A♥")
    table.play("A: A♥", "B: take")
    assert table.outcome == "durak B"
    (led, lead), (took, take) = reviewed(table, 2)
    assert (led, lead) == ("A", MoveReview(DRAW, DRAW))  # A had no other card to lead
    assert (took, take.before, take.after) == ("B", DRAW, LOSS)
    assert better(take) == beat


def test_R15_taking_wins_later_than_beating_but_keeps_the_win() -> None:
    table = endgame_table("A♥ 8♣ 9♦", "6♠", trump="♠")
    table.play("A: A♥", "B: take")
    [(_, lead), (_, take)] = reviewed(table, 2)
    assert lead == MoveReview(LOSS, LOSS)  # already lost: the trump beats any lead
    assert take == MoveReview(WIN, WIN)


def test_leading_a_beatable_card_first_gives_a_win_away() -> None:
    # B cannot beat K♦ and would have to take it. Then 6♣ would be A's last card.
    table = endgame_table("6♣ K♦", "9♣ K♥", trump="♠")
    right = move_of(table.match, "K♦")
    table.play("A: 6♣", "B: 9♣ beats 6♣", "A: pass", "B: K♥", "A: take")
    assert table.outcome == "durak A"
    (_, lead), *others = reviewed(table, 5)
    assert (lead.before, lead.after, better(lead)) == (WIN, LOSS, right)
    results = {"A": MoveReview(LOSS, LOSS), "B": MoveReview(WIN, WIN)}
    assert others == [(seat, results[seat]) for seat in "BABA"]


def test_throwing_in_too_early_gives_a_win_away_and_waiting_is_better() -> None:
    # Without Q♦, J♠ must beat 10♦: a draw. With Q♦ in hand, Q♦ beats 10♦ or J♠ beats K♦, and A is
    # out with the other card.
    table = endgame_table("Q♥ Q♦ J♠", "10♦ K♦ 8♠", trump="♠")
    table.play("A: Q♥", "A: Q♦", "B: 8♠ beats Q♥", "B: K♦ beats Q♦", "A: pass")
    table.play("B: 10♦", "A: J♠ beats 10♦")
    assert table.outcome == "draw"
    (_, lead), (_, throw), *_ = reviewed(table, 7)
    assert lead == MoveReview(WIN, WIN)
    assert (throw.before, throw.after) == (WIN, DRAW)
    assert throw.better is not None
    assert throw.better.kind is MoveKind.WAIT


@pytest.mark.parametrize("answer", ["B: transfer 6♣", "A: 6♠"])
def test_R6_2_a_lead_that_a_transfer_refutes_is_called_wrong(answer: str) -> None:
    """Also in a match in which B does not transfer before A adds a card."""
    table = endgame_table("6♦ 10♦ J♦ 6♠", "6♣ J♣", trump="♥", transfer=True)
    right = move_of(table.match, "10♦")
    table.play("A: 6♦", answer)
    (_, lead), (seat, reply) = reviewed(table, 2)
    assert (lead.before, lead.after, better(lead)) == (WIN, LOSS, right)
    assert (seat, reply) == (answer[0], MoveReview(WIN, WIN))


@pytest.mark.parametrize("draw_allowed", [False, True])
def test_a_review_calls_no_lead_right_whose_answer_takes_the_result_away(
    *, draw_allowed: bool
) -> None:
    """After a move the other seat can reach no more than the rest, if it acts first."""
    judged = 0
    for seed in range(30):
        wanted = settings(transfer=True, draw_allowed=draw_allowed)
        table = dealt_by_seed(wanted, seed)
        play_out(table, random.Random(seed))
        found = [(move, review_move(move, 500)) for move in endgame_moves(table.records)]
        for (one, first), (other, second) in pairwise(found):
            acted = other.position is not None and other.position.turn is Role.DEFENDER
            if one.seat != other.seat and acted and first.after is not None:
                assert second.before in (None, -first.after)
                judged += 1
    assert judged > 50


def test_R9_4_where_no_draw_is_allowed_the_wrong_lead_loses() -> None:
    # After 9♥, B must beat it with 6♦. Then 8♠ beats 6♠, both hands are empty, and B is the durak.
    table = endgame_table("9♥ 6♠", "6♦ 8♠", trump="♦", draw_allowed=False)
    table.play("A: 6♠", "B: 8♠ beats 6♠", "A: pass", "B: 6♦", "A: take")
    assert table.outcome == "durak A"
    (_, lead), *_ = reviewed(table, 5)
    assert (lead.before, lead.after) == (WIN, LOSS)
    assert better(lead) == move_of(table.match, "9♥")


def test_R10_2_a_move_by_the_clock_is_reviewed_as_the_move_of_the_seat() -> None:
    table = endgame_table("A♥", "6♠", trump="♠", turn_timer_seconds=30)
    table.play("A: A♥")
    took = table.match.version + 2  # after the TimedOut event
    table.wait(31)
    table.records[took - 1].actor_kind = ActorKind.ACTOR_KIND_CLOCK  # as in stored records
    *_, last = endgame_moves(table.records)
    assert (last.version, last.seat, last.by_clock) == (took, 1, True)
    assert review_move(last, BUDGET).after is LOSS


def test_a_position_beyond_the_budget_has_no_review() -> None:
    table = endgame_table("6♥ 9♦ K♣ 8♣ Q♦ 7♠", "7♥ 10♦ K♥ 9♣ J♣ 8♠", trump="♠")
    table.play("A: 6♥")
    [played] = endgame_moves(table.records)[-1:]
    assert review_move(played, 10) == MoveReview()
    assert review_move(played, BUDGET).before is not None


def test_R11_moves_on_tricky_tables_have_no_review() -> None:
    table = endgame_table("A♥", "6♠", trump="♠", tricky=True)
    table.play("A: A♥", "B: take")
    assert [judged for _, judged in reviewed(table, 2)] == [MoveReview(), MoveReview()]


def test_moves_with_more_than_two_seats_in_play_are_not_listed() -> None:
    table = endgame_table("6♥", "7♥ 10♦", "9♣", trump="♠")
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    table.pass_all()
    assert not endgame_moves(table.records)  # A was in play until the bout was over
    table.play("B: 10♦")
    [played] = endgame_moves(table.records)
    assert (played.version, played.seat) == (table.match.version, 1)


def test_a_table_without_a_deal_has_no_moves_to_review() -> None:
    assert not endgame_moves(opened(settings()).records)


@pytest.mark.parametrize("transfer", [False, True])
@pytest.mark.parametrize("draw_allowed", [False, True])
def test_the_solver_follows_the_moves_of_the_match(*, transfer: bool, draw_allowed: bool) -> None:
    """Each move is legal for the solver and leads to the same position as in the match."""
    for seed in range(12):
        wanted = settings(
            transfer=transfer, draw_allowed=draw_allowed, five_card_opening=bool(seed % 2)
        )
        table = dealt_by_seed(wanted, seed)
        play_out(table, random.Random(seed))
        found = endgame_moves(table.records)
        assert found
        for played, following in zip(found, [*found[1:], None], strict=True):
            assert played.position is not None
            assert played.move in legal_moves(played.position)
            after = apply_move(played.position, played.move)
            if following is None:
                assert isinstance(after, Terminal)
                durak = table.result.durak if table.outcome.startswith("durak") else None
                assert after.winner == (None if durak is None else 1 - durak)
            else:
                assert isinstance(after, Position)
                assert following.position is not None
                assert replace(after, turn=following.position.turn) == following.position
