"""Reviews: what each move of an ending did to the result. The endings are worked out by hand."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from domain.endgame import MoveKind, Position, Terminal, Value, apply_move, legal_moves
from domain.endgame.conversion import to_move_message
from domain.endgame.review import MoveReview, endgame_moves, review_move
from durak.v1.events_pb2 import ActorKind
from durak.v1.table_pb2 import Move
from tests.domain.endgame_tables import ending
from tests.domain.random_play import dealt_by_seed, play_out
from tests.domain.tables import Table, move_of, opened, settings

BUDGET = 100_000
WIN, DRAW, LOSS = Value.WIN, Value.DRAW, Value.LOSS


def reviewed(table: Table, last: int) -> list[tuple[str, MoveReview]]:
    """The last moves of a match: who made them, and what they did."""
    played = endgame_moves(table.records)[-last:]
    return [("AB"[one.seat], review_move(one, BUDGET)) for one in played]


def better(judged: MoveReview) -> Move | None:
    return None if judged.better is None else to_move_message(judged.better)


def test_R15_taking_where_beating_draws_gives_the_draw_away() -> None:
    table = ending("A♥", "6♠", trump="♠")
    beat = move_of(table.match, "6♠ beats A♥")
    table.play("A: A♥", "B: take")
    assert table.outcome == "durak B"
    (led, lead), (took, take) = reviewed(table, 2)
    assert (led, lead) == ("A", MoveReview(DRAW, DRAW))  # there was no other card to lead
    assert (took, take.before, take.after) == ("B", DRAW, LOSS)
    assert better(take) == beat


def test_R15_taking_wins_as_beating_does_but_later() -> None:
    table = ending("A♥ 8♣ 9♦", "6♠", trump="♠")
    table.play("A: A♥", "B: take")
    [(_, lead), (_, take)] = reviewed(table, 2)
    assert lead == MoveReview(LOSS, LOSS)  # nothing to lose: the trump beats whatever is led
    assert take == MoveReview(WIN, WIN)


def test_leading_the_card_that_can_be_beaten_first_gives_the_win_away() -> None:
    # Nothing of B's beats K♦, so B would take it, and 6♣ would be A's last card.
    table = ending("6♣ K♦", "9♣ K♥", trump="♠")
    right = move_of(table.match, "K♦")
    table.play("A: 6♣", "B: 9♣ beats 6♣", "A: pass", "B: K♥", "A: take")
    assert table.outcome == "durak A"
    (_, lead), *others = reviewed(table, 5)
    assert (lead.before, lead.after, better(lead)) == (WIN, LOSS, right)
    results = {"A": MoveReview(LOSS, LOSS), "B": MoveReview(WIN, WIN)}
    assert others == [(seat, results[seat]) for seat in "BABA"]


def test_throwing_in_too_early_gives_the_win_away_and_waiting_was_better() -> None:
    # With Q♦ gone, J♠ has to beat 10♦: a draw. Kept, Q♦ beats 10♦, or J♠ beats K♦, and A is out
    # with the other one.
    table = ending("Q♥ Q♦ J♠", "10♦ K♦ 8♠", trump="♠")
    table.play("A: Q♥", "A: Q♦", "B: 8♠ beats Q♥", "B: K♦ beats Q♦", "A: pass")
    table.play("B: 10♦", "A: J♠ beats 10♦")
    assert table.outcome == "draw"
    (_, lead), (_, throw), *_ = reviewed(table, 7)
    assert lead == MoveReview(WIN, WIN)
    assert (throw.before, throw.after) == (WIN, DRAW)
    assert throw.better is not None
    assert throw.better.kind is MoveKind.WAIT


def test_R9_4_where_no_draw_is_allowed_the_same_lead_loses_another_result() -> None:
    # 6♦ must beat 9♥, then 6♠ follows and 8♠ beats it: both hands are empty, and B is the durak.
    table = ending("9♥ 6♠", "6♦ 8♠", trump="♦", draw_allowed=False)
    table.play("A: 6♠", "B: 8♠ beats 6♠", "A: pass", "B: 6♦", "A: take")
    assert table.outcome == "durak A"
    (_, lead), *_ = reviewed(table, 5)
    assert (lead.before, lead.after) == (WIN, LOSS)
    assert better(lead) == move_of(table.match, "9♥")


def test_R10_2_the_move_of_the_clock_is_the_seats_move() -> None:
    table = ending("A♥", "6♠", trump="♠", turn_timer_seconds=30)
    table.play("A: A♥")
    took = table.match.version + 2  # after the event that tells of the time-out
    table.wait(31)
    table.records[took - 1].actor_kind = ActorKind.ACTOR_KIND_CLOCK  # as the service stores it
    *_, last = endgame_moves(table.records)
    assert (last.version, last.seat, last.by_clock) == (took, 1, True)
    assert review_move(last, BUDGET).after is LOSS


def test_a_position_beyond_the_budget_is_not_decided() -> None:
    table = ending("6♥ 9♦ K♣ 8♣ Q♦ 7♠", "7♥ 10♦ K♥ 9♣ J♣ 8♠", trump="♠")
    table.play("A: 6♥")
    [played] = endgame_moves(table.records)[-1:]
    assert review_move(played, 10) == MoveReview()
    assert review_move(played, BUDGET).before is not None


def test_R11_nothing_is_decided_at_tricky_tables() -> None:
    table = ending("A♥", "6♠", trump="♠", tricky=True)
    table.play("A: A♥", "B: take")
    assert [judged for _, judged in reviewed(table, 2)] == [MoveReview(), MoveReview()]


def test_moves_with_more_seats_in_play_are_left_out() -> None:
    table = ending("6♥", "7♥ 10♦", "9♣", trump="♠")
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    table.pass_all()
    assert not endgame_moves(table.records)  # A was in play until the bout was over
    table.play("B: 10♦")
    [played] = endgame_moves(table.records)
    assert (played.version, played.seat) == (table.match.version, 1)


def test_a_table_that_was_never_dealt_has_nothing_to_review() -> None:
    assert not endgame_moves(opened(settings()).records)


@pytest.mark.parametrize("transfer", [False, True])
@pytest.mark.parametrize("draw_allowed", [False, True])
def test_the_solver_plays_on_as_the_match_did(*, transfer: bool, draw_allowed: bool) -> None:
    """Each move is legal for the solver, and leads it to where the match went."""
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
