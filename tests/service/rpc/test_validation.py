"""Every field of a request that is malformed is named by its path; the rest comes out parsed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1.audit_service_pb2 import ReadEventsRequest
from durak.v1.dispute_service_pb2 import ListDisputesRequest
from durak.v1.practice_service_pb2 import ListPuzzlesRequest
from durak.v1.standings_service_pb2 import ListRatingsRequest
from durak.v1.table_pb2 import Phase
from durak.v1.wallet_service_pb2 import GrantCoinsRequest, ListTransfersRequest
from service.audit.requests import read_events
from service.disputes.requests import list_disputes
from service.matches import requests
from service.practice.requests import list_puzzles
from service.rpc.errors import Refused
from service.rpc.validation import Target
from service.standings.requests import list_ratings
from service.wallet.requests import grant_coins, list_transfers

# Fixed, since they stand in the names of cases, which have to be the same in every worker.
MATCH = UUID("436bebf9-7c4a-4a7b-a4ee-f3ebc38d7914")
REQUEST = UUID("bcd28ce9-aceb-431d-bd29-c3b7eb16d326")
IDS: dict[str, Any] = {"match_id": str(MATCH), "request_id": str(REQUEST)}
SETTINGS: dict[str, Any] = {"deck": 36, "seats": 2}


def faulty(check: Callable[[], object]) -> set[str]:
    """The paths that a check names."""
    with pytest.raises(Refused) as refused:
        check()
    refusal = refused.value.refusal
    assert refusal.reason == reasons.ERROR_REASON_MALFORMED_FIELD
    assert all(fault.description for fault in refusal.fields)
    return {fault.path for fault in refusal.fields}


@given(st.uuids(), st.uuids(), st.none() | st.integers(0, 2**31 - 1), st.booleans())
def test_ids_come_out_as_bytes(
    match: UUID, request_id: UUID, version: int | None, upper: bool
) -> None:
    text = str(match).upper() if upper else str(match)
    request = api.LeaveMatchRequest(
        match_id=text, request_id=str(request_id), expected_version=version
    )
    assert requests.only_target(request) == Target(match.bytes, request_id.bytes, version)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        MATCH.hex,
        f"{{{MATCH}}}",
        f" {str(MATCH)[1:]}",
        f"{str(MATCH)[:-1]} ",
        f"{str(MATCH)[:-2]}  ",
        f"{str(MATCH)[:-1]}g",
        f"{MATCH}\n",
        f"urn:uuid:{MATCH}",
        str(MATCH).replace("-", "_"),
        "0123-4567-89ab-cdef-0123-4567-89abcd",
        "12345678-1234-1234-1234-1234567890-2",
        "٠" * 8 + "-1234-1234-1234-123456789012",
        "x" * 10_000,
    ],
)
def test_other_forms_of_ids_are_refused(text: str) -> None:
    assert faulty(lambda: requests.match_id(api.GetMatchRequest(match_id=text))) == {"match_id"}


@given(st.text(max_size=40))
def test_whatever_is_taken_as_an_id_is_that_uuid(text: str) -> None:
    try:
        parsed = requests.match_id(api.GetMatchRequest(match_id=text))
    except Refused:
        return
    assert str(UUID(bytes=parsed)) == text.lower()


def test_all_faults_are_named_at_once_and_below_their_request() -> None:
    request = api.TakeSeatRequest(match_id="x", seat=6, client_seed_hash=b"s" * 33)
    names = {"match_id", "request_id", "seat", "client_seed_hash"}
    assert faulty(lambda: requests.take_seat(request)) == names
    below = {f"take_seat.{name}" for name in names}
    assert faulty(lambda: requests.take_seat(request, "take_seat.")) == below


def test_limits_themselves_are_allowed() -> None:
    target = Target(MATCH.bytes, REQUEST.bytes, None)
    assert (
        requests.take_seat(api.TakeSeatRequest(**IDS, seat=5, client_seed_hash=b"s" * 32)) == target
    )
    assert requests.take_seat(api.TakeSeatRequest(**IDS)) == target
    assert requests.rematch(api.RematchRequest(**IDS, client_seed_hash=b"s" * 32)) == target
    assert (
        requests.only_target(api.CancelTableRequest(**IDS, expected_version=0)).expected_version
        == 0
    )
    requests.list_matches(
        api.ListMatchesRequest(phase=Phase.PHASE_ENDED, page_size=100, page_token="t" * 512)
    )
    largest = {"deck": 52, "seats": 6, "turn_timer_seconds": 86_400, "stake_coins": 10**9}
    request = api.OpenTableRequest(request_id=str(REQUEST), settings=largest)  # type: ignore[arg-type]
    assert requests.open_table(request) == REQUEST.bytes


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("deck", 1),
        ("deck", 32),
        ("deck", -1),
        ("seats", 7),
        ("seats", 2**31 - 1),
        ("seats", -1),
        ("throw_in", 3),
        ("turn_timer_seconds", 86_401),
        ("turn_timer_seconds", -1),
        ("stake_coins", 10**9 + 1),
        ("stake_coins", -1),
        ("preset", "p" * 65),
        ("series_id", str(MATCH)),
    ],
)
def test_settings_that_the_contract_does_not_know(setting: str, value: object) -> None:
    settings: Any = {**SETTINGS, setting: value}
    request = api.OpenTableRequest(request_id=str(REQUEST), settings=settings)
    assert faulty(lambda: requests.open_table(request)) == {f"settings.{setting}"}


def test_a_table_needs_settings() -> None:
    assert faulty(lambda: requests.open_table(api.OpenTableRequest())) == {"request_id", "settings"}


@pytest.mark.parametrize("level", [0, 4, -1, 2**31 - 1])
def test_levels_of_bots(level: int) -> None:
    request = api.SeatBotRequest(**IDS, level=level)  # type: ignore[arg-type]
    assert faulty(lambda: requests.seat_bot(request)) == {"level"}


@pytest.mark.parametrize("card", [0, 53, -1, 2**31 - 1])
@pytest.mark.parametrize(
    ("kind", "paths"),
    [
        ("attack", ["card"]),
        ("defend", ["attack_card", "card"]),
        ("transfer", ["card"]),
    ],
)
def test_invalid_cards_are_refused(card: int, kind: str, paths: list[str]) -> None:
    move: Any = {kind: dict.fromkeys(paths, card)}
    request = api.PlayRequest(**IDS, move=move)
    assert faulty(lambda: requests.play(request)) == {f"move.{kind}.{path}" for path in paths}


@pytest.mark.parametrize("card", range(1, 53))
def test_every_card_is_one(card: int) -> None:
    moves: list[Any] = [{"attack": {"card": card}}, {"defend": {"attack_card": card, "card": card}}]
    for move in moves:
        request = api.PlayRequest(**IDS, move=move)
        assert requests.play(request).match_id == MATCH.bytes


def test_moves_without_cards() -> None:
    moves: list[Any] = [{"take": {}}, {"pass": {}}, {"challenge": {"play_version": 7}}]
    for move in moves:
        assert requests.play(api.PlayRequest(**IDS, move=move)).request_id == REQUEST.bytes
    challenge: Any = {"challenge": {}}
    request = api.PlayRequest(**IDS, move=challenge)
    assert faulty(lambda: requests.play(request)) == {"move.challenge.play_version"}
    assert faulty(lambda: requests.play(api.PlayRequest(**IDS))) == {"move"}
    assert faulty(lambda: requests.play(api.PlayRequest(**IDS, move={}))) == {"move"}  # type: ignore[arg-type]


def test_lists() -> None:
    request = api.ListMatchesRequest(phase=9, page_size=-1, page_token="t" * 513)  # type: ignore[arg-type]
    assert faulty(lambda: requests.list_matches(request)) == {"phase", "page_size", "page_token"}


PAGED: list[tuple[Callable[[Any], int], Callable[..., Any], int, int]] = [
    (requests.list_matches, api.ListMatchesRequest, 20, 100),
    (list_puzzles, ListPuzzlesRequest, 20, 100),
    (list_ratings, ListRatingsRequest, 20, 100),
    (list_transfers, ListTransfersRequest, 20, 100),
    (lambda request: list_disputes(request)[0], ListDisputesRequest, 20, 100),
    (
        lambda request: read_events(request)[1],
        lambda **fields: ReadEventsRequest(match_id=str(MATCH), **fields),
        500,
        1000,
    ),
]


@pytest.mark.parametrize(("check", "request_of", "default", "largest"), PAGED)
def test_a_page_size_beyond_the_limit_means_the_limit(
    check: Callable[[Any], int], request_of: Callable[..., Any], default: int, largest: int
) -> None:
    sizes = [check(request_of(page_size=size)) for size in (0, 1, largest, largest + 1, 2**31 - 1)]
    assert sizes == [default, 1, largest, largest, largest]
    assert faulty(lambda: check(request_of(page_size=-1))) == {"page_size"}


def test_negative_numbers_are_malformed() -> None:
    sit = api.TakeSeatRequest(**IDS, seat=-1, expected_version=-1)
    assert faulty(lambda: requests.take_seat(sit)) == {"seat", "expected_version"}
    watch = api.WatchMatchRequest(match_id=str(MATCH), after_version=-1)
    assert faulty(lambda: requests.watch_match(watch)) == {"after_version"}
    on_session = api.SessionWatch(request_id=str(REQUEST), watch=watch)
    assert faulty(lambda: requests.session_watch(on_session)) == {"watch.watch.after_version"}
    challenge: Any = {"challenge": {"play_version": -1}}
    play = api.PlayRequest(**IDS, move=challenge)
    assert faulty(lambda: requests.play(play)) == {"move.challenge.play_version"}
    grant = GrantCoinsRequest(request_id=str(REQUEST), player_id="ann", coins=-1)
    assert faulty(lambda: grant_coins(grant, 100)) == {"coins", "reason"}


def test_watches_on_a_session() -> None:
    watch = api.SessionWatch(request_id=str(REQUEST), watch={"match_id": str(MATCH)})  # type: ignore[arg-type]
    assert requests.session_watch(watch) == MATCH.bytes
    paths = {"watch.request_id", "watch.watch.match_id"}
    assert faulty(lambda: requests.session_watch(api.SessionWatch())) == paths
    unwatch = api.SessionUnwatch(request_id="x")
    assert faulty(lambda: requests.session_unwatch(unwatch)) == {"unwatch.request_id"}
