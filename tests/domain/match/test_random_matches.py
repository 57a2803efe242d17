"""Random matches with every combination of settings, played to the end and replayed.

`DURAK_TEST_MATCHES` is the number of matches. The default is one for each combination.
"""

import os
import random
from collections import Counter
from itertools import groupby

import pytest

from domain.match.fold import fold
from durak.v1.events_pb2 import Outcome, Record
from durak.v1.settings_pb2 import Settings
from durak.v1.table_pb2 import PHASE_ENDED
from tests.domain.random_play import all_settings, dealt_by_seed, play_out, state_of
from tests.domain.tables import Table

COMBINATIONS = list(all_settings())
MATCHES = int(os.environ.get("DURAK_TEST_MATCHES", "832"))
EACH = -(-MATCHES // len(COMBINATIONS))


def group_of(settings: Settings) -> str:
    circle = "all" if settings.throw_in == 2 else "neighbours"
    return f"{settings.deck} cards, {settings.seats} seats, {circle}"


GROUPS = {name: list(group) for name, group in groupby(COMBINATIONS, group_of)}


def played(settings: Settings, number: int) -> Table:
    """A random match that depends on the number alone."""
    chance = random.Random(f"{settings}{number}")
    table = dealt_by_seed(settings, chance.getrandbits(128))
    play_out(table, chance)
    return table


def test_there_are_832_combinations() -> None:
    # 3 + 5 + 5 numbers of seats for the decks, two circles, five switches
    assert len(COMBINATIONS) == 13 * 2 * 2**5
    assert len({settings.SerializeToString() for settings in COMBINATIONS}) == len(COMBINATIONS)


@pytest.mark.parametrize("group", GROUPS)
def test_random_matches_end_and_replay_to_the_same_state(group: str) -> None:
    outcomes: Counter[int] = Counter()
    for settings in GROUPS[group]:
        for number in range(EACH):
            table = played(settings, number)
            assert table.match.phase == PHASE_ENDED
            assert sum(table.shares) == settings.stake_coins * settings.seats
            assert [record.version for record in table.records] == list(
                range(1, len(table.records) + 1)
            )
            stored = [record.SerializeToString() for record in table.records]
            replayed = fold(Record.FromString(record) for record in stored)
            assert state_of(replayed) == state_of(table.match)
            outcomes[table.result.outcome] += 1
    assert outcomes.keys() <= {
        Outcome.OUTCOME_PLAYED_OUT,
        Outcome.OUTCOME_DRAW,
        Outcome.OUTCOME_ABANDONED,
    }
    assert outcomes[Outcome.OUTCOME_PLAYED_OUT]
