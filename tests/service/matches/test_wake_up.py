"""Wake-ups: a match is looked at again at its deadline, and sooner if a bot is to move."""

from __future__ import annotations

from domain.match.commands import Leave, SeatBot, TakeSeat
from durak.v1.settings_pb2 import BotLevel
from service.matches.wake_up import bot_to_move, next_wake_up_us
from tests.domain.tables import IDLE_LIMIT_SECONDS, START_US, full, opened, settings, sitting

BOT_TURN_US = 5_000_000
SECOND_US = 1_000_000


def test_a_table_that_waits_is_looked_at_when_its_idle_limit_ends() -> None:
    match = opened(settings(turn_timer_seconds=30)).match
    assert next_wake_up_us(match, START_US, BOT_TURN_US) == (
        START_US + IDLE_LIMIT_SECONDS * SECOND_US
    )


def test_a_match_of_players_is_looked_at_at_its_deadline() -> None:
    match = full(settings(turn_timer_seconds=30)).match
    assert bot_to_move(match) is None
    assert next_wake_up_us(match, START_US + SECOND_US, BOT_TURN_US) == START_US + 30 * SECOND_US


def test_a_bot_to_move_is_looked_at_after_its_turn_but_not_after_the_deadline() -> None:
    table = opened(settings(turn_timer_seconds=30))
    for seat in range(2):
        table.perform(sitting(0), SeatBot(BotLevel.BOT_LEVEL_EASY, seat))
    match = table.match
    assert bot_to_move(match) == match.attacker
    assert next_wake_up_us(match, START_US, BOT_TURN_US) == START_US + BOT_TURN_US
    late_us = START_US + 28 * SECOND_US
    assert next_wake_up_us(match, late_us, BOT_TURN_US) == START_US + 30 * SECOND_US


def test_a_bot_that_does_not_have_to_move_changes_nothing() -> None:
    table = opened(settings(turn_timer_seconds=30))
    table.perform(sitting(0), SeatBot(BotLevel.BOT_LEVEL_EASY))
    assert bot_to_move(table.match) is None
    assert next_wake_up_us(table.match, START_US, BOT_TURN_US) == table.match.deadline_us()


def test_an_ended_match_is_not_looked_at_again() -> None:
    table = opened(settings())
    for seat, name in enumerate("AB"):
        table.perform(sitting(seat), TakeSeat(name))
    table.perform(sitting(0), Leave())
    assert next_wake_up_us(table.match, START_US, BOT_TURN_US) is None
