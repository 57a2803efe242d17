"""R3.0 Access: open tables, invitations and links."""

import pytest

from domain.match.commands import Leave, OpenTable, Rematch, TakeSeat, by_player
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.refusal import Refusal
from domain.match.view import match_summary, table_view
from tests.domain.tables import (
    IDLE_LIMIT_SECONDS,
    MATCH_ID,
    REVEAL_LIMIT_SECONDS,
    SERVER_SEED,
    Table,
    kinds,
    refused,
    settings,
    sitting,
)

LINK = bytes(range(100, 116))
# SHA-256("durak.v1.link" || MATCH_ID || LINK), computed with `sha256sum`.
LINK_HASH = "e89c7e454b34ad53f88f303ca978bbc200446ccc7f3d85d8ac8e6adc44817bcd"


def private(invited: tuple[str, ...] = (), link_secret: bytes = b"", seats: int = 3) -> Table:
    table = Table()
    opening = OpenTable(
        settings(seats=seats),
        SERVER_SEED,
        IDLE_LIMIT_SECONDS,
        REVEAL_LIMIT_SECONDS,
        invited=invited,
        link_secret=link_secret,
    )
    table.perform(sitting(0), opening)
    return table


def sit(table: Table, letter: str, link_secret: bytes = b"") -> str:
    command = TakeSeat(letter, link_secret=link_secret)
    outcome = decide(table.match, by_player(f"player-{letter}"), command)
    if isinstance(outcome, Refusal):
        return refused(outcome)
    return " ".join(kinds(table.store(outcome.events)))


def test_R3_0_an_open_table_takes_everyone_and_ignores_secrets() -> None:
    table = private()
    assert not table_view(table.match, None).is_private
    assert sit(table, "B", LINK) == "seat_taken"


def test_R3_0_a_table_with_invitations_takes_its_owner_and_the_invited_players() -> None:
    table = private(("player-B",))
    assert sit(table, "C") == "NOT_INVITED R3.0"
    assert sit(table, "C", LINK) == "NOT_INVITED R3.0"
    assert sit(table, "B") == "seat_taken"
    assert sit(table, "A") == "seat_taken"


@pytest.mark.parametrize("wrong", [b"", b"\x00", LINK[:-1], LINK + b"\x00", bytes(16)])
def test_R3_0_a_table_with_a_link_takes_those_who_have_it(wrong: bytes) -> None:
    table = private(("player-D",), LINK)
    assert sit(table, "B", wrong) == "NOT_INVITED R3.0"
    assert sit(table, "B", LINK) == "seat_taken"
    assert sit(table, "D", wrong) == "seat_taken"  # invited players need no link


def test_the_log_has_the_hash_of_the_link_and_never_the_secret() -> None:
    table = private(link_secret=LINK)
    opened = table.records[0].event.table_opened
    assert opened.link_secret_hash.hex() == LINK_HASH
    sit(table, "B", LINK)
    assert not any(LINK in record.SerializeToString() for record in table.records)
    again = Match()
    for record in table.records:
        again.apply(record)
    assert again.table == table.match.table


def test_views_and_lists_show_that_a_table_is_private_and_who_is_invited() -> None:
    table = private(("player-B",))
    for shown in (table_view(table.match, None), match_summary(table.match)):
        assert (shown.is_private, list(shown.invited)) == (True, ["player-B"])


@pytest.mark.parametrize("link_secret", [b"", LINK])
def test_R13_1_a_rematch_keeps_the_access(link_secret: bytes) -> None:
    old = private(("player-B",), link_secret, seats=2)
    sit(old, "A")
    sit(old, "B")
    old.perform(sitting(0), Leave())
    again = Table(MATCH_ID[:-1] + b"\xff")
    rematch = Rematch(old.match, "B", b"", SERVER_SEED, IDLE_LIMIT_SECONDS, REVEAL_LIMIT_SECONDS)
    again.perform(sitting(1), rematch)
    assert again.match.table.is_private
    assert again.match.table.invited == ("player-B",)
    assert sit(again, "C", link_secret) == "NOT_INVITED R3.0"
    assert sit(again, "A") == "seat_taken dealt"
