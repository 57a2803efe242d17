"""R11 Tricky tables: undetected cheats, caught cheats, false accusations."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest

from domain.cards import CARD_BY_NAME
from domain.match.view import redact, table_view
from durak.v1.events_pb2 import Event, TookReason
from durak.v1.table_pb2 import TableView
from tests.domain.endgame_tables import endgame_table
from tests.domain.tables import LETTERS, Table, dealt, kinds

CHEAT = TookReason.TOOK_REASON_CHEAT
FALSE_ACCUSATION = TookReason.TOOK_REASON_FALSE_ACCUSATION


def four(**wanted: Any) -> Table:
    """Four seats on a tricky table with transfers. A leads, B defends."""
    wanted = {"tricky": True, "transfer": True} | wanted
    return dealt(
        "6♠ 6♥ 8♦ 9♦ 10♦ J♦",
        "7♥ 8♥ 6♦ 7♠ Q♣ K♣",
        "6♣ 7♦ 8♣ 9♣ 10♣ J♣",
        "9♥ 7♣ Q♦ K♦ Q♥ K♥",
        trump="A♠",
        **wanted,
    )


class Role(NamedTuple):
    """A play by a seat in one role after A led 6♥, in a legal and an illegal form."""

    player: str
    honest: str  # the card of the legal play
    wrong: str  # the card of the illegal play
    words: str  # the move
    defender: str  # after the play


ROLES = {
    "attacker": Role("A", "6♠", "8♦", "{}", "B"),
    "thrower": Role("C", "6♣", "9♣", "{}", "B"),
    "defender": Role("B", "7♥", "Q♣", "{} beats 6♥", "B"),
    "transferrer": Role("B", "6♦", "Q♣", "transfer {}", "C"),
}
roles = pytest.mark.parametrize("role", ROLES.values(), ids=ROLES)


def after(role: Role, card: str, **wanted: Any) -> Table:
    """The table after A led 6♥ and the seat made its play with this card."""
    table = four(**wanted)
    table.play("A: 6♥", f"{role.player}: {role.words.format(card)}")
    return table


def next_seat(letter: str) -> str:
    return LETTERS[(LETTERS.index(letter) + 1) % 4]


# --- R11.1 and R11.2: the play stands, unmarked -------------------------------------------------


@roles
def test_R11_1_an_illegal_card_is_accepted_on_tricky_tables_only(role: Role) -> None:
    after(role, role.wrong)
    plain = four(tricky=False)
    plain.play("A: 6♥")
    plain.refused(f"{role.player}: {role.words.format(role.wrong)}")


def test_R11_1_a_transfer_after_a_card_was_beaten() -> None:
    table = four()
    table.play("A: 6♥", "A: 6♠", "B: 7♥ beats 6♥", "B: transfer 6♦")
    assert (table.attacker, table.defender, table.match.unbeaten) == ("B", "C", 2)
    table.play("D: challenge 6♦")
    assert "7♥" in table.hand("B").split(), "it was illegal: B has the table"


def test_T18_a_transfer_after_everything_was_beaten_is_a_cheat_that_a_challenge_catches() -> None:
    table = four()
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    assert not table.match.unbeaten
    table.play("B: transfer 6♦")
    assert (table.attacker, table.defender) == ("B", "C")
    table.play("D: challenge 6♦")
    assert {"6♥", "7♥", "6♦"} <= set(table.hand("B").split()), "B picks up the whole table (R11.4)"


@roles
def test_R11_1_a_seat_plays_only_its_own_cards(role: Role) -> None:
    table = four()
    table.play("A: 6♥")
    words = role.words.format("A♦")  # in the stock
    assert table.refused(f"{role.player}: {words}").startswith("CARD_NOT_HELD")


def test_R11_1_a_seat_plays_only_in_its_role_and_within_the_cap() -> None:
    table = four(throw_in=1)
    table.play("A: 6♥")
    assert table.refused("D: 9♥") == "NOT_A_NEIGHBOUR R5.2"
    assert table.refused("B: 8♥") == "NOT_YOUR_TURN R5.2"
    assert table.refused("A: 6♠ beats 6♥") == "NOT_YOUR_TURN R4.2"
    table.play(*(f"A: {card}" for card in ("6♠", "8♦", "9♦", "10♦", "J♦")))
    assert table.refused("C: 6♣") == "CAP_REACHED R4.3"


def shown(view: TableView, swap: dict[str, str]) -> dict[str, object]:
    """A view field by field, with two cards exchanged and hands as sets."""
    fields: dict[str, object] = {}
    for field, value in view.ListFields():
        if field.name == "moves":
            # The next legal cards depend on the ranks on the table, which are public.
            moves = view.moves
            fields["moves"] = (moves.can_take, moves.can_pass, list(moves.challenge))
            continue
        text = re.sub(r"CARD_\w+", lambda found: swap.get(found[0], found[0]), str(value))
        fields[field.name] = sorted(text.split()) if field.name == "hand" else text
    if view.hand:
        names = [type_name(card) for card in view.hand]
        fields["hand"] = sorted(swap.get(name, name) for name in names)
    return fields


def type_name(card: int) -> str:
    """The name in the contract."""
    return str(TableView(trump_card=card)).split(": ")[1].strip()  # type: ignore[arg-type]


@roles
def test_R11_2_nothing_in_any_view_or_event_marks_the_illegal_play(role: Role) -> None:
    honest, cheat = after(role, role.honest), after(role, role.wrong)
    mine, theirs = (type_name(CARD_BY_NAME[card]) for card in (role.honest, role.wrong))
    swap = {mine: theirs, theirs: mine}
    trump = honest.match.trump_card
    for viewer in (None, 0, 1, 2, 3):
        before = shown(table_view(honest.match, viewer), {})
        assert shown(table_view(cheat.match, viewer), swap) == before
        events = [redact(table.records[-1].event, viewer, trump) for table in (honest, cheat)]
        texts = [str(event) for event in events]
        assert texts[1].replace(theirs, mine) == texts[0]
    stored = [len(table.records[-1].SerializeToString()) for table in (honest, cheat)]
    assert stored[0] == stored[1]


@roles
def test_R11_2_the_decision_is_the_same_for_both_plays(role: Role) -> None:
    honest, cheat = after(role, role.honest), after(role, role.wrong)
    assert len(honest.records) == len(cheat.records)
    assert honest.on_clock == cheat.on_clock
    assert honest.match.deadline_us() == cheat.match.deadline_us()


# --- R11.4: caught cheats and false accusations, in every role ----------------------------------


@roles
def test_R11_4_a_caught_cheat_picks_up_the_table(role: Role) -> None:
    table = after(role, role.wrong)
    events = table.play(f"D: challenge {role.wrong}")
    assert kinds(events)[:2] == ["challenged", "took"]
    assert events[0].challenged.upheld
    assert (LETTERS[events[1].took.seat], events[1].took.reason) == (role.player, CHEAT)
    held = table.hand(role.player).split()
    assert "6♥" in held
    assert role.wrong in held
    passed_over = role.player == role.defender
    expected = next_seat(role.defender) if passed_over else role.defender
    assert table.attacker == expected


@roles
def test_R11_4_a_false_accusation_costs_the_accuser(role: Role) -> None:
    table = after(role, role.honest)
    events = table.play(f"D: challenge {role.honest}")
    assert kinds(events)[:2] == ["challenged", "took"]
    assert not events[0].challenged.upheld
    assert (LETTERS[events[1].took.seat], events[1].took.reason) == ("D", FALSE_ACCUSATION)
    assert "6♥" in table.hand("D").split()
    assert role.honest in table.hand("D").split()
    assert table.attacker == role.defender, "D does not defend, so the defender attacks next"


@roles
def test_R11_6_a_cheat_without_a_challenge_is_final(role: Role) -> None:
    table = after(role, role.wrong)
    table.play(f"{role.defender}: take") if table.match.unbeaten else None
    events = table.pass_all()
    assert kinds(events)[1] in {"took", "discarded"}
    assert all(not event.HasField("challenged") for event in events)
    if role.player == "B" and role.defender == "B":
        assert table.discard == "Q♣ 6♥", "beaten, to all appearance"
    else:
        assert role.wrong in table.hand(role.defender).split()


def test_R11_4_a_defender_who_accuses_falsely_is_skipped() -> None:
    table = four()
    table.play("A: 6♥", "A: 6♠")
    events = table.play("B: challenge 6♠")
    assert LETTERS[events[1].took.seat] == "B"
    assert (table.attacker, table.defender) == ("C", "D")


def test_R11_4_a_defender_who_is_right_attacks_next() -> None:
    table = four()
    table.play("A: 6♥", "A: 8♦", "B: challenge 8♦")
    assert {"6♥", "8♦"} <= set(table.hand("A").split())
    assert (table.attacker, table.defender) == ("B", "C")


def test_R11_4_all_draw_as_usual_after_a_challenge() -> None:
    table = four(stock="Q♠ K♠")
    table.play("A: 6♥", "C: 9♣", "B: 7♥ beats 6♥")
    events = table.play("D: challenge 9♣")  # C picks up three cards and has eight
    assert kinds(events) == ["challenged", "took", "drew"]
    assert [(draw.seat, len(draw.cards)) for draw in events[2].drew.draws] == [(0, 1), (1, 1)]
    assert {"Q♠"} <= set(table.hand("A").split())


def test_R11_4_a_challenge_does_not_count_as_the_first_successful_defence() -> None:
    table = four(five_card_opening=True)
    table.play("A: 6♥", "B: 7♥ beats 6♥", "D: challenge 7♥")
    assert table_view(table.match, None).attacks_left == 5
    assert table.match.bouts_without_discard == 1, "and no card went to the discard pile"


# --- R11.3: the right to challenge --------------------------------------------------------------


def test_R11_3_there_are_no_challenges_on_other_tables() -> None:
    table = four(tricky=False)
    table.play("A: 6♥")
    assert table.refused("B: challenge 6♥") == "NOT_TRICKY R11"


def test_R11_3_a_seat_cannot_challenge_its_own_play() -> None:
    table = after(ROLES["attacker"], "8♦")
    assert table.refused("A: challenge 8♦") == "OWN_PLAY R11.3"


def test_R11_3_a_play_can_be_challenged_once_and_until_the_bout_is_closed() -> None:
    table = after(ROLES["defender"], "Q♣")
    table.play("A: pass", "C: pass")
    version = table.match.laid[CARD_BY_NAME["Q♣"]][1]
    late = table.match.copy()
    table.play("A: challenge Q♣")
    assert list(table_view(table.match, 3).moves.challenge) == []
    assert late.player_of(version) == 1
    assert table.match.player_of(version) is None, "plays of the last bout cannot be challenged"


def test_R11_3_a_play_can_be_challenged_after_take() -> None:
    table = four()
    table.play("A: 6♥", "B: take", "C: 9♣")
    table.play("B: challenge 9♣")
    assert "9♣" in table.hand("C").split()
    assert table.attacker == "B"


def test_R11_3_every_play_is_listed_for_all_other_seats_legal_or_not() -> None:
    table = four()
    table.play("A: 6♥", "C: 6♣", "C: 9♣", "B: 7♥ beats 6♥")
    version = {card: table.match.laid[CARD_BY_NAME[card]][1] for card in ("6♥", "6♣", "9♣", "7♥")}
    lists = [list(table_view(table.match, seat).moves.challenge) for seat in range(4)]
    assert lists == [
        [version["6♣"], version["9♣"], version["7♥"]],
        [version["6♥"], version["6♣"], version["9♣"]],
        [version["6♥"], version["7♥"]],
        [version["6♥"], version["6♣"], version["9♣"], version["7♥"]],
    ]


def test_R11_5_a_bout_closes_only_after_a_pass_of_every_seat_but_the_defender() -> None:
    # A has no cards, D is not a neighbour, and the cap is reached.
    table = endgame_table("6♥", "7♥", "9♣ 9♦", "10♣ 10♦", trump="♠", tricky=True, throw_in=1)
    table.play("A: 6♥", "B: 7♥ beats 6♥")
    assert table.on_clock == "ACD"
    for seat in "DA":
        assert kinds(table.play(f"{seat}: pass")) == ["passed"]
    assert kinds(table.play("C: pass"))[1:] == ["discarded", "went_out"]


def test_R11_5_also_after_take_every_other_seat_must_pass() -> None:
    table = endgame_table("6♥", "7♣", trump="♠", tricky=True)
    assert kinds(table.play("A: 6♥", "B: take")) == ["take_declared"]
    assert kinds(table.play("A: pass")) == ["passed", "took", "went_out", "finished"]


def test_R11_2_no_event_has_the_legality_of_a_play() -> None:
    said = {field.name for field in Event.DESCRIPTOR.fields}
    assert "challenged" in said
    for message in ("Attacked", "Defended", "Transferred"):
        fields = Event.DESCRIPTOR.file.message_types_by_name[message].fields_by_name
        assert set(fields) <= {"seat", "card", "attack_card"}


# --- a whole match ------------------------------------------------------------------------------


def test_R11_a_match_with_an_undetected_cheat_a_caught_cheat_and_a_false_accusation() -> None:
    table = endgame_table("6♥ 9♦ 10♦", "7♣ 8♥ K♣", "Q♦ J♥", trump="♠", tricky=True)

    # B "beats" a heart with a club, and nobody challenges it.
    table.play("A: 6♥", "B: 7♣ beats 6♥", "A: pass", "C: pass")
    assert {"6♥", "7♣"} <= set(table.discard.split())

    # B throws in a king without a king on the table, and A challenges it.
    table.play("B: 8♥", "C: J♥ beats 8♥", "B: K♣", "A: challenge K♣")
    assert [table.hand(seat) for seat in "ABC"] == ["9♦ 10♦", "K♣ 8♥ J♥", "Q♦"]

    # B challenges a lead of C, which is never illegal. C has played the last card.
    table.play("C: Q♦", "B: challenge Q♦")
    assert [table.hand(seat) for seat in "ABC"] == ["9♦ 10♦", "K♣ Q♦ 8♥ J♥", ""]
    assert (table.attacker, table.defender) == ("A", "B")

    # All other plays are legal.
    table.play("A: 9♦", "B: Q♦ beats 9♦", "A: pass")
    table.play("B: K♣", "A: take", "B: pass")
    table.play("B: J♥", "A: take", "B: pass")
    table.play("B: 8♥", "A: take", "B: pass")
    assert table.outcome == "durak A"
    assert table.places == [3, 2, 1]
