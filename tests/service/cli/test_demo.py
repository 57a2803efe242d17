"""The players of `durak demo --tricky`, on real tables without a server."""

import random
from typing import Any, cast

import pytest

from domain.match.commands import Play
from domain.match.decide import decide
from domain.match.outcome import Outcome
from durak.v1.match_service_pb2 import MatchEvent
from durak.v1.table_pb2 import PHASE_PLAYING
from service.cli.demo import CHEAT, WITNESS, Cheat, Client, Witness, demo_settings
from tests.domain.tables import full, sitting

NO_STUB = cast("Any", None)
MOVES_MAX = 1000


def play_until_a_challenge(seed: int) -> bool:
    """Play a match of the demo, whose players act in a random order, up to the first challenge.

    Returns whether the challenge was upheld.
    """
    chance = random.Random(seed)
    table = full(demo_settings(stake=0, tricky=True), chance.randbytes(32))
    players: list[Client] = [
        Witness(WITNESS, NO_STUB, ()),
        Cheat(CHEAT, NO_STUB, ()),
        Client("Vera", NO_STUB, ()),
        Client("Gleb", NO_STUB, ()),
    ]
    for _ in range(MOVES_MAX):
        seats = list(range(len(players)))
        chance.shuffle(seats)
        for seat in seats:
            view, shown = table.shown_to(seat)
            players[seat].events = [MatchEvent(event=event) for event in shown]
            move = players[seat].choose(view)
            if move is None:
                continue
            outcome = decide(table.match, sitting(seat), Play(move))
            assert isinstance(outcome, Outcome), f"a move was refused: {move} {outcome}"
            events = table.store(outcome.events)
            if challenged := [one.challenged for one in events if one.HasField("challenged")]:
                return challenged[0].upheld
            break
        if table.match.phase != PHASE_PLAYING:
            break
    raise AssertionError("the match shows no challenge")


@pytest.mark.parametrize("seed", range(30))
def test_R11_3_each_tricky_demo_shows_a_cheat_who_is_caught(seed: int) -> None:
    assert play_until_a_challenge(seed), "the challenge is upheld"
