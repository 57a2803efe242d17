"""The audit judges removals (R3.0) and the access to private tables by its own rules."""

from random import Random

from domain.audit import Kind, audit
from domain.match.commands import Leave, OpenTable, RemovePlayer, TakeSeat, by_player
from durak.v1.events_pb2 import Event, Record, SeatVacated
from tests.domain.audit.audit_matches import (
    IDLE_LIMIT_SECONDS,
    OWNER,
    PlayedMatch,
    opened_again,
    stored,
)
from tests.domain.tables import settings

MATCH_ID = bytes(range(16))


def with_a_removal() -> PlayedMatch:
    """A staked table for three at which the owner removed Bob, after which Carl sat down.

    The records: opened, the owner's seat, Bob's seat, the removal, Carl's seat.
    """
    played = PlayedMatch(MATCH_ID)
    opening = OpenTable(settings(seats=3, stake_coins=10), bytes(32), IDLE_LIMIT_SECONDS, 30)
    assert played.by_player(OWNER, opening)
    assert played.by_player(OWNER, TakeSeat("Name"))
    assert played.by_player("bob", TakeSeat("Bob"))
    assert played.by_player(OWNER, RemovePlayer("bob"))
    assert played.by_player("carl", TakeSeat("Carl"))
    return played


def faults(played: PlayedMatch) -> list[tuple[Kind, int, str]]:
    """The kind, version and clause of each finding, with the coins that the events demand."""
    found = audit(
        stored(played.match_id, [record.SerializeToString() for record in played.records]),
        match_id=played.match_id,
        ledger=played.ledger,
    ).findings
    return [(it.kind, it.version, it.clause) for it in found]


def forged(played: PlayedMatch, version: int) -> Record:
    return played.records[version - 1]


def test_R3_0_a_removal_by_the_owner_is_fine_and_returns_the_stake() -> None:
    played = with_a_removal()
    assert faults(played) == []
    assert [entry.player_id for entry in played.ledger if entry.coins > 0 and entry.player_id] == [
        "bob"
    ]


def test_R3_0_only_the_owner_removes_players() -> None:
    played = with_a_removal()
    forged(played, 4).actor_id = "carl"
    assert faults(played) == [(Kind.ACTOR, 4, "R3.0")]


def test_R3_0_a_removal_that_is_recorded_as_a_seat_given_up_is_found() -> None:
    played = with_a_removal()
    forged(played, 4).event.seat_vacated.removed = False
    assert faults(played) == [(Kind.ACTOR, 4, "R3.0")]


def test_R3_0_the_owner_does_not_remove_themselves() -> None:
    played = with_a_removal()
    forged(played, 4).event.seat_vacated.seat = 0
    assert (Kind.SEATING, 4, "R3.0") in faults(played)


def test_R3_0_a_removed_player_who_sits_again_is_found() -> None:
    played = with_a_removal()
    record = forged(played, 5)
    record.actor_id = record.event.seat_taken.player_id = "bob"
    assert faults(played) == [(Kind.SEATING, 5, "R3.0")]


def test_R13_1_a_removal_from_a_rematch_is_found() -> None:
    old = with_a_removal()
    assert old.by_player("dan", TakeSeat("Dan"))
    assert old.by_player("dan", Leave())
    played = opened_again(old, Random(1))
    (seat,) = [number for number, it in enumerate(played.match.table.seats) if it is not None]
    played.store(by_player(OWNER), [Event(seat_vacated=SeatVacated(seat=seat, removed=True))])
    assert (Kind.SEATING, 3, "R13.1") in faults(played)


def private(link_secret: bytes = b"") -> PlayedMatch:
    """A private table at which the invited player Bob sat down."""
    played = PlayedMatch(MATCH_ID)
    opening = OpenTable(
        settings(seats=3),
        bytes(32),
        IDLE_LIMIT_SECONDS,
        30,
        invited=("bob",),
        link_secret=link_secret,
    )
    assert played.by_player(OWNER, opening)
    assert played.by_player("bob", TakeSeat("Bob"))
    return played


def test_R3_0_an_invited_player_is_fine_and_a_stranger_is_found() -> None:
    played = private()
    assert faults(played) == []
    record = forged(played, 2)
    record.actor_id = record.event.seat_taken.player_id = "carl"
    assert faults(played) == [(Kind.SEATING, 2, "R3.0")]


def test_R3_0_the_log_does_not_say_who_had_the_link() -> None:
    played = private(bytes(16))
    record = forged(played, 2)
    record.actor_id = record.event.seat_taken.player_id = "carl"
    assert faults(played) == []


def test_R3_0_a_table_with_invitations_is_recorded_as_private() -> None:
    played = private()
    forged(played, 1).event.table_opened.is_private = False
    assert faults(played) == [(Kind.OPENING, 1, "R3.0")]


def test_R13_1_a_rematch_of_a_private_table_is_private() -> None:
    old = private(bytes(16))
    assert old.by_player("carl", TakeSeat("Carl", link_secret=bytes(16)))
    assert old.by_player("dan", TakeSeat("Dan", link_secret=bytes(16)))
    assert old.by_player("dan", Leave())
    assert faults(opened_again(old, Random(2))) == []
