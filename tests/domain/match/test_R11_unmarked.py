"""R11.2 Nothing marks an illegal play.

An illegal play is compared with a legal play of the same form: the changes in every view, and the
lines of code that decide and fold it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import domain
from domain.cards import CARD_BY_NAME, cards_in
from domain.match.commands import Play
from domain.match.decide import decide
from domain.match.view import table_view
from durak.v1.table_pb2 import TableView
from tests.domain.match.test_R11_tricky import Role, after, four, roles, shown, type_name
from tests.domain.tables import LETTERS, Table, accepted, move_of, sitting

CORE = str(Path(domain.__file__).parent)
VIEWERS = (None, 0, 1, 2, 3)


def before(role: Role) -> Table:
    """The table before the play of a role."""
    table = four()
    table.play("A: 6♥")
    assert role.player in LETTERS[:4]
    return table


def changed(old: TableView, new: TableView, swap: dict[str, str]) -> dict[str, object]:
    """The fields of a view that a play changes, with two cards exchanged in the new view."""
    was, now = shown(old, swap), shown(new, swap)
    return {name: now.get(name) for name in {*was, *now} if now.get(name) != was.get(name)}


@roles
def test_R11_2_an_illegal_play_changes_each_view_like_a_legal_one(role: Role) -> None:
    """`hand` is not compared for the player, whose own view loses the card."""
    honest, cheat = after(role, role.honest), after(role, role.wrong)
    mine, theirs = (type_name(CARD_BY_NAME[card]) for card in (role.honest, role.wrong))
    for viewer in VIEWERS:
        old = table_view(before(role).match, viewer)
        fields = changed(old, table_view(honest.match, viewer), {})
        swapped = changed(old, table_view(cheat.match, viewer), {mine: theirs, theirs: mine})
        is_player = viewer is not None and LETTERS[viewer] == role.player
        if is_player:
            assert fields.pop("hand", None) is not None
            assert swapped.pop("hand", None) is not None
        assert swapped == fields != {}


@roles
def test_R11_2_the_listed_moves_depend_on_public_cards_alone(role: Role) -> None:
    for card in (role.honest, role.wrong):
        match = after(role, card).match
        ranks = {CARD_BY_NAME[card] % 13, CARD_BY_NAME["6♥"] % 13}
        for seat in range(4):
            moves = table_view(match, seat).moves
            own = set(cards_in(match.hands[seat]))
            fitting = {held for held in own if held % 13 in ranks}
            may_throw_in = seat != match.defender and len(match.attacks) < match.cap
            assert set(moves.attack) == (fitting if may_throw_in else set())
            assert list(moves.challenge) == [
                version
                for laid in (*match.attacks, *match.beaten_by.values())
                for by, version in [match.laid[laid]]
                if by != seat
            ]


def lines_run(work: Any) -> list[tuple[str, int]]:
    """The lines of the core that a function runs."""
    lines: list[tuple[str, int]] = []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(CORE):
            return None
        if event == "line":
            lines.append((frame.f_code.co_filename, frame.f_lineno))
        return trace

    found = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(found)
    return lines


@pytest.mark.skipif(
    os.environ["DURAK_CORE"] == "compiled", reason="compiled code has no lines to trace"
)
@roles
def test_R11_2_an_illegal_play_runs_the_same_code_as_a_legal_one(role: Role) -> None:
    """Latency does not show the difference: only the fold runs three more lines to record it."""

    def work(card: str) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
        match = before(role).match
        actor = sitting(LETTERS.index(role.player))
        play = Play(move_of(match, role.words.format(card)))
        initiating = accepted(decide(match, actor, play))[0]
        decided = lines_run(lambda: decide(match, actor, play))
        twin = match.copy()
        return decided, lines_run(lambda: twin.fold_event(initiating))

    (honest, kept), (cheat, noted) = work(role.honest), work(role.wrong)
    note = [line for line in noted if line not in kept]
    assert len(note) == 3, "the fold records the cheat for a challenge"
    assert [line for line in noted if line not in note] == kept
    assert [line for line in cheat if line not in note] == honest
