"""R10 Timer and leaving."""

from typing import Any

import pytest

from domain.match.commands import CLOCK, TimeOut
from domain.match.decide import decide
from domain.match.view import table_view
from durak.v1.events_pb2 import LeftReason
from tests.domain.endgame_tables import endgame_table
from tests.domain.tables import (
    IDLE_LIMIT_SECONDS,
    Table,
    accepted,
    dealt,
    full,
    kinds,
    opened,
    settings,
)

SECONDS = 30
THREE = ("6♠ 6♥ 7♦ 8♦ 9♦ 10♦", "6♦ 7♥ 8♥ 9♥ 7♠ Q♣", "6♣ 7♣ 8♣ 9♣ 10♣ J♣")


def three(**wanted: Any) -> Table:
    """Three seats with thirty seconds each. A leads."""
    wanted = {"turn_timer_seconds": SECONDS} | wanted
    return dealt(*THREE, trump="A♠", stock="J♦ J♥ Q♦ Q♥ K♦ K♥", **wanted)


def seconds_left(table: Table) -> float:
    """The seconds from now to the deadline in the view."""
    deadline = table_view(table.match, None).deadline_time
    return deadline.seconds + deadline.nanos / 1e9 - table.now_us / 1e6


def test_R10_1_the_seats_on_the_clock() -> None:
    table = three()
    seen = [table.on_clock]
    for move in (
        "A: 6♥",
        "B: 7♥ beats 6♥",
        "A: pass",
        "C: 7♣",
        "B: take",
        "A: pass",
        "C: pass",
    ):
        table.play(move)
        seen.append(table.on_clock)
    assert seen == ["A", "B", "AC", "C", "B", "AC", "C", "C"]


def test_R10_1_the_clock_in_the_view_is_the_one_enforced() -> None:
    table = three()
    view = table_view(table.match, 1)
    assert list(view.on_clock) == [0]
    assert seconds_left(table) == SECONDS
    table.play("A: leave")
    assert not table_view(table.match, 1).HasField("deadline_time")


def test_R10_2_nothing_happens_before_the_time_is_over() -> None:
    table = three()
    assert kinds(table.wait(29.999_999)) == []
    assert kinds(table.wait(0.000_001)) == ["timed_out", "attacked"]


def test_R10_2_the_attacker_leads_the_lowest_plain_card() -> None:
    table = three()
    table.wait(SECONDS)
    assert table.on_table == "6♥"  # A also holds 6♠, but it is a trump
    assert table.on_clock == "B"


def test_R10_2_the_attacker_leads_the_lowest_trump_where_there_is_no_plain_card() -> None:
    table = dealt("J♠ 7♠ 8♠ 9♠ 10♠ Q♠", "6♦ 7♥ 8♥ 9♥ 7♦ Q♣", trump="A♠", turn_timer_seconds=SECONDS)
    table.wait(SECONDS)
    assert table.on_table == "7♠"


def test_C12_R10_2_the_defender_takes() -> None:
    table = three()
    table.play("A: 6♥")
    assert kinds(table.wait(SECONDS)) == ["timed_out", "take_declared"]
    events = table.play("A: pass", "C: pass")
    assert kinds(events) == ["passed", "took", "drew"]
    assert table.discard == ""
    assert "6♥" in table.hand("B")


def test_C13_R10_2_a_thrower_whose_time_is_over_passes() -> None:
    table = three()
    table.play("A: 6♥", "B: 7♥ beats 6♥", "C: pass")
    assert kinds(table.wait(SECONDS)) == ["timed_out", "passed", "discarded", "drew"]
    assert table.attacker == "B"


def test_R10_2_several_seats_time_out_one_after_the_other() -> None:
    table = three()
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    first, second, third = table.wait(SECONDS + 5), table.wait(0), table.wait(0)
    assert kinds(first) == ["timed_out", "passed"]
    assert kinds(second) == ["timed_out", "passed", "discarded", "drew"]
    assert [first[0].timed_out.seat, second[0].timed_out.seat] == [0, 2]
    assert kinds(third) == [], "the next bout has its own time"
    assert seconds_left(table) == SECONDS


def test_R10_1_a_pass_does_not_restart_the_clock_of_the_others() -> None:
    table = three()
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    table.wait(20)
    table.play("A: pass")
    assert seconds_left(table) == 10


def test_R10_1_every_card_and_the_take_restart_the_clock() -> None:
    table = three()
    for move in ("A: 6♥", "A: 6♠", "B: 7♥ beats 6♥", "B: take", "C: 6♣"):
        table.wait(20)
        table.play(move)
        assert seconds_left(table) == SECONDS, move


def three_timeouts() -> Table:
    """A has timed out twice: leading and throwing in. B attacks C."""
    table = three()
    table.wait(SECONDS)
    table.play("B: 7♥ beats 6♥", "C: pass")
    table.wait(SECONDS)
    assert (table.attacker, table.defender) == ("B", "C")
    table.play("B: Q♣", "C: take", "B: pass")
    return table


def test_R10_3_three_timeouts_in_a_row_count_as_leaving() -> None:
    table = three_timeouts()
    assert table_view(table.match, 1).seats[0].timeouts_in_a_row == 2
    events = table.wait(SECONDS)
    assert kinds(events) == ["timed_out", "left", "finished"]
    assert events[1].left.reason == LeftReason.LEFT_REASON_TIMEOUTS
    assert table.outcome == "abandoned by A"


def test_R10_3_a_move_by_the_player_resets_the_count_of_timeouts() -> None:
    table = three_timeouts()
    table.play("A: pass")
    assert table_view(table.match, 1).seats[0].timeouts_in_a_row == 0
    assert table.attacker == "A"
    assert kinds(table.wait(SECONDS)) == ["timed_out", "attacked"]


def test_R10_3_timeouts_of_other_seats_do_not_change_the_count() -> None:
    table = three()
    table.wait(SECONDS)  # A leads
    table.wait(SECONDS)  # B takes
    table.wait(SECONDS)  # A passes
    assert [seat.timeouts_in_a_row for seat in table_view(table.match, None).seats] == [2, 1, 0]


@pytest.mark.parametrize("seat", ["A", "B"])
def test_R10_4_R10_6_leaving_is_final(seat: str) -> None:
    table = three()
    assert kinds(table.play(f"{seat}: leave")) == ["left", "finished"]
    assert table.outcome == f"abandoned by {seat}"
    assert table.wait(10 * SECONDS) == []


def test_R10_5_the_clock_depends_on_the_log_alone() -> None:
    table = three()
    table.wait(12)
    table.play("A: 6♥")
    table.wait(7)
    again = Table()
    for record in table.records:
        again.match.apply(record)
    assert again.match.deadline_us() == table.match.deadline_us()
    assert again.match.clock_us == table.match.clock_us


def test_R10_7_on_tricky_tables_every_awaited_seat_is_on_the_clock() -> None:
    table = endgame_table(
        "6♥", "7♥ K♣ 8♦", "9♦ 10♦", trump="♠", tricky=True, turn_timer_seconds=SECONDS
    )
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    assert table.on_clock == "AC", "A holds no card, but may still challenge"
    assert kinds(table.wait(SECONDS)) == ["timed_out", "passed"]
    assert kinds(table.wait(0)) == ["timed_out", "passed", "discarded", "went_out"]


def test_R10_8_without_a_timer_the_idle_limit_counts_as_leaving() -> None:
    table = three(turn_timer_seconds=0)
    table.play("A: 6♥")
    assert table.wait(IDLE_LIMIT_SECONDS - 1) == []
    events = table.wait(1)
    assert kinds(events) == ["left", "finished"]
    assert events[0].left.reason == LeftReason.LEFT_REASON_IDLE
    assert table.outcome == "abandoned by B"


def test_R10_8_with_a_timer_the_idle_limit_has_no_effect() -> None:
    table = three()
    assert kinds(table.wait(2 * IDLE_LIMIT_SECONDS)) == ["timed_out", "attacked"]


@pytest.mark.parametrize("timer", [0, SECONDS])
def test_R10_8_a_table_that_does_not_fill_is_cancelled(timer: int) -> None:
    table = opened(settings(turn_timer_seconds=timer))
    assert table.wait(IDLE_LIMIT_SECONDS - 1) == []
    assert kinds(table.wait(1)) == ["finished"]
    assert table.outcome == "cancelled"


def test_deciding_a_timeout_does_not_change_the_match() -> None:
    table = full(settings(turn_timer_seconds=SECONDS))
    version = table.match.version
    later = table.now_us + SECONDS * 1_000_000
    first, second = (accepted(decide(table.match, CLOCK, TimeOut(later))) for _ in range(2))
    assert first == second != []
    assert table.match.version == version
