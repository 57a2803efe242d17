"""R3.6 Secrets for the shuffle: promised by their hash, revealed when the table is full."""

import pytest

from domain.cards import NO_CARD
from domain.match.commands import (
    CLOCK,
    CancelTable,
    Command,
    Leave,
    RemovePlayer,
    RevealSeed,
    SeatBot,
    TakeSeat,
    TimeOut,
    by_player,
)
from domain.match.deal import deal, secret_hash
from domain.match.deal_check import DealMismatch, Promises, check_deal
from domain.match.decide import decide
from domain.match.fold import CorruptLogError, Match
from domain.match.refusal import Refusal
from domain.match.view import redact, table_view
from durak.v1.events_pb2 import Event, Record
from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import PHASE_ENDED, PHASE_PLAYING, PHASE_REVEALING
from tests.domain.tables import (
    MATCH_ID,
    REVEAL_LIMIT_SECONDS,
    SERVER_SEED,
    Table,
    full,
    kinds,
    opened,
    promise_of,
    promised,
    refused,
    secret_of,
    settings,
    sitting,
)


def attempt(table: Table, seat: int, command: Command) -> str:
    """Store the events of a command. Return the events or the refusal in words."""
    outcome = decide(table.match, sitting(seat), command)
    if isinstance(outcome, Refusal):
        return refused(outcome)
    return " ".join(kinds(table.store(outcome.events)))


def test_R3_6_the_deal_follows_the_last_reveal() -> None:
    table = promised(settings(seats=3))
    assert table.match.phase == PHASE_REVEALING
    assert attempt(table, 1, RevealSeed(secret_of(1))) == "seed_revealed"
    assert attempt(table, 0, RevealSeed(secret_of(0))) == "seed_revealed"
    assert table.match.phase == PHASE_REVEALING
    assert attempt(table, 2, RevealSeed(secret_of(2))) == "seed_revealed dealt"
    assert table.match.phase == PHASE_PLAYING


def test_R3_6_without_a_promise_the_last_seat_deals_at_once() -> None:
    table = opened(settings())
    assert attempt(table, 0, TakeSeat("A")) == "seat_taken"
    assert attempt(table, 1, TakeSeat("B")) == "seat_taken dealt"


def test_R3_6_only_seats_with_a_promise_have_to_reveal() -> None:
    table = opened(settings(seats=3))
    attempt(table, 0, TakeSeat("A"))
    attempt(table, 1, TakeSeat("B", client_seed_hash=promise_of(1)))
    assert attempt(table, 0, SeatBot(BotLevel.BOT_LEVEL_EASY)) == "seat_taken"
    assert table.on_clock == "B"
    assert attempt(table, 0, RevealSeed(secret_of(0))) == "NO_SECRET_PROMISED R3.6"
    assert attempt(table, 1, RevealSeed(secret_of(1))) == "seed_revealed dealt"
    expected = deal(36, SERVER_SEED, MATCH_ID, [b"", secret_of(1), b""])
    hands = tuple(tuple(hand.cards) for hand in table.records[-1].event.dealt.hands)
    assert hands == expected.hands


def test_R3_6_a_wrong_or_second_or_early_reveal_is_refused() -> None:
    table = opened(settings())
    attempt(table, 0, TakeSeat("A", client_seed_hash=promise_of(0)))
    assert attempt(table, 0, RevealSeed(secret_of(0))) == "MATCH_NOT_REVEALING R3.6"
    attempt(table, 1, TakeSeat("B", client_seed_hash=promise_of(1)))
    assert attempt(table, 0, RevealSeed(bytes(32))) == "SECRET_DOES_NOT_FIT R3.6"
    assert attempt(table, 0, RevealSeed(secret_of(1))) == "SECRET_DOES_NOT_FIT R3.6"
    assert attempt(table, 0, RevealSeed(secret_of(0))) == "seed_revealed"
    assert attempt(table, 0, RevealSeed(secret_of(0))) == "ALREADY_REVEALED R3.6"
    assert attempt(table, 2, RevealSeed(secret_of(0))) == "NOT_SEATED"
    assert attempt(table, 1, RevealSeed(secret_of(1))) == "seed_revealed dealt"
    assert attempt(table, 1, RevealSeed(secret_of(1))) == "ALREADY_REVEALED R3.6"


@pytest.mark.parametrize("other", [bytes(16), bytes(range(16))])
def test_R3_6_a_promise_for_another_match_cannot_be_revealed_here(other: bytes) -> None:
    table = opened(settings())
    attempt(table, 0, TakeSeat("A", client_seed_hash=promise_of(0, other)))
    attempt(table, 1, TakeSeat("B"))
    assert attempt(table, 0, RevealSeed(secret_of(0))) == "SECRET_DOES_NOT_FIT R3.6"


def test_R3_6_no_seat_changes_once_the_table_is_full() -> None:
    table = promised(settings(seats=3, stake_coins=5))
    version = table.match.version
    assert attempt(table, 0, CancelTable()) == "MATCH_NOT_WAITING R3.0"
    assert attempt(table, 0, RemovePlayer("player-B")) == "MATCH_NOT_WAITING R3.0"
    assert attempt(table, 3, TakeSeat("D")) == "MATCH_NOT_WAITING R3.0"
    assert table.match.version == version


@pytest.mark.parametrize("has_revealed", [False, True])
def test_R3_6_a_leave_during_the_reveal_cancels_the_table_and_names_the_seat(
    *, has_revealed: bool
) -> None:
    table = promised(settings(seats=3, stake_coins=5))
    if has_revealed:
        attempt(table, 1, RevealSeed(secret_of(1)))
    assert attempt(table, 1, Leave()) == "finished"
    assert table.outcome == "cancelled"
    assert list(table.result.prevented_by) == [1]
    assert table.shares == [5, 5, 5]
    assert table.result.server_seed == SERVER_SEED


def test_R3_6_R10_9_at_the_deadline_the_table_is_cancelled_and_names_the_late_seats() -> None:
    table = promised(settings(seats=3, stake_coins=5))
    attempt(table, 1, RevealSeed(secret_of(1)))
    assert kinds(table.wait(REVEAL_LIMIT_SECONDS - 0.000001)) == []
    assert kinds(table.wait(0.000001)) == ["finished"]
    assert table.match.phase == PHASE_ENDED
    assert list(table.result.prevented_by) == [0, 2]
    assert table.shares == [5, 5, 5]
    assert attempt(table, 0, RevealSeed(secret_of(0))) == "MATCH_NOT_REVEALING R3.6"


def test_R10_9_the_time_to_reveal_starts_with_the_last_seat() -> None:
    table = opened(settings())
    attempt(table, 0, TakeSeat("A", client_seed_hash=promise_of(0)))
    table.now_us += 10_000_000
    attempt(table, 1, TakeSeat("B", client_seed_hash=promise_of(1)))
    table.now_us += 5_000_000
    attempt(table, 1, RevealSeed(secret_of(1)))
    view = table_view(table.match, None)
    assert list(view.on_clock) == [0]
    assert table.match.deadline_us() == table.now_us + 25_000_000
    assert view.seats[1].client_secret == secret_of(1)
    assert view.seats[0].client_secret == b""


def test_R3_6_no_secret_is_shown_before_its_reveal() -> None:
    table = promised(settings(seats=3))
    attempt(table, 2, RevealSeed(secret_of(2)))
    for viewer in (None, 0, 1, 2):
        view, shown = (
            table.shown_to(viewer)
            if viewer is not None
            else (
                table_view(table.match, None),
                [redact(record.event, None, NO_CARD) for record in table.records],
            )
        )
        everything = view.SerializeToString() + b"".join(e.SerializeToString() for e in shown)
        assert secret_of(0) not in everything
        assert secret_of(1) not in everything
        assert SERVER_SEED not in everything


@pytest.mark.parametrize("size", [1, 31, 33])
def test_a_hash_of_another_length_is_corrupt(size: int) -> None:
    table = opened(settings())
    events = [Event()]
    events[0].seat_taken.player_id = "player-A"
    events[0].seat_taken.client_seed_hash = bytes(size)
    with pytest.raises(CorruptLogError):
        table.store(events)


@pytest.mark.parametrize(
    ("seat", "secret"), [(0, bytes(32)), (0, secret_of(1)), (2, secret_of(0)), (-1, secret_of(0))]
)
def test_a_reveal_that_does_not_fit_is_corrupt(seat: int, secret: bytes) -> None:
    table = promised(settings())
    event = Event()
    event.seed_revealed.seat = seat
    event.seed_revealed.secret = secret
    with pytest.raises(CorruptLogError):
        table.store([event])


@pytest.mark.parametrize("seats", [(), (0,), (0, 1, 2), (5,), (2, 1)])
def test_a_cancellation_that_names_the_wrong_seats_is_corrupt(seats: tuple[int, ...]) -> None:
    table = promised(settings(seats=3))
    attempt(table, 0, RevealSeed(secret_of(0)))
    event = Event(finished=table.match.prevented_deal((1, 2)))
    event.finished.prevented_by[:] = seats
    if seats == (0,):  # a player who has revealed can still leave
        table.store([event])
        return
    with pytest.raises(CorruptLogError):
        table.store([event])


def test_the_clock_does_nothing_before_the_deadline() -> None:
    table = promised(settings())
    outcome = decide(table.match, CLOCK, TimeOut(table.now_us))
    assert not isinstance(outcome, Refusal)
    assert outcome.events == []


# --- T01: the operator and the last player together --------------------------------------------


def test_T01_the_deck_depends_on_nothing_chosen_after_the_first_secret_is_known() -> None:
    """After the reveal of seat 0 they can reveal the promised secret, or prevent the deal."""
    table = opened(settings())
    attempt(table, 0, TakeSeat("A", client_seed_hash=promise_of(0)))
    attempt(table, 1, TakeSeat("B", client_seed_hash=promise_of(1)))
    attempt(table, 0, RevealSeed(secret_of(0)))
    accepted = []
    for number in range(2_000):  # the search of the attack: any other secret is refused
        outcome = decide(table.match, sitting(1), RevealSeed(number.to_bytes(32, "big")))
        assert isinstance(outcome, Refusal)
    for command in (RevealSeed(secret_of(1)), Leave(), TakeSeat("B"), CancelTable()):
        for player in ("player-A", "player-B", "player-C"):
            outcome = decide(table.match, by_player(player), command)
            if not isinstance(outcome, Refusal):
                accepted.append((type(command).__name__, player, kinds(outcome.events)))
    assert accepted == [
        ("RevealSeed", "player-B", ["seed_revealed", "dealt"]),
        ("Leave", "player-A", ["finished"]),
        ("Leave", "player-B", ["finished"]),
    ]


def test_T01_a_log_with_another_seed_or_secret_does_not_pass_the_check_of_the_honest_player() -> (
    None
):
    """The operator can write any log. Seat 0 kept the promises that it saw before its reveal."""
    honest = full(settings())
    honest.play("A: leave")
    _, seen = honest.shown_to(0)
    known = Promises(honest.match.table.server_seed_hash, (promise_of(0), promise_of(1)))
    check_deal(MATCH_ID, "player-A", secret_of(0), known, seen)

    for forged in (other_server_seed(), other_last_secret()):
        forged.play("A: leave")
        Match().apply(forged.records[0])  # a log that folds
        _, shown = forged.shown_to(0)
        with pytest.raises(DealMismatch):
            check_deal(MATCH_ID, "player-A", secret_of(0), known, shown)


def other_server_seed() -> Table:
    return full(settings(), server_seed=bytes(32))


def other_last_secret() -> Table:
    table = opened(settings())
    attempt(table, 0, TakeSeat("A", client_seed_hash=promise_of(0)))
    promise = secret_hash(MATCH_ID, "player-B", bytes(32))
    attempt(table, 1, TakeSeat("B", client_seed_hash=promise))
    attempt(table, 0, RevealSeed(secret_of(0)))
    attempt(table, 1, RevealSeed(bytes(32)))
    return table


def test_the_check_finds_a_card_that_the_deck_has_elsewhere() -> None:
    table = full(settings())
    table.play("A: leave")
    _, seen = table.shown_to(0)
    known = Promises(table.match.table.server_seed_hash, (promise_of(0), promise_of(1)))
    for change in (swap_own_cards, another_trump_card, another_leader, another_seed):
        changed = [Event.FromString(event.SerializeToString()) for event in seen]
        change(changed)
        with pytest.raises(DealMismatch):
            check_deal(MATCH_ID, "player-A", secret_of(0), known, changed)
    with pytest.raises(DealMismatch, match="your secret"):
        check_deal(MATCH_ID, "player-A", bytes(32), known, seen)


def dealt_of(events: list[Event]) -> Event:
    return next(event for event in events if event.HasField("dealt"))


def swap_own_cards(events: list[Event]) -> None:
    cards = dealt_of(events).dealt.hands[0].cards
    cards[0], cards[1] = cards[1], cards[0]


def another_trump_card(events: list[Event]) -> None:
    dealt = dealt_of(events).dealt
    dealt.trump_card = dealt.hands[0].cards[0]


def another_leader(events: list[Event]) -> None:
    dealt_of(events).dealt.first_attacker ^= 1


def another_seed(events: list[Event]) -> None:
    events[-1].finished.server_seed = bytes(32)


def test_the_check_holds_for_every_seat_and_kind_of_table() -> None:
    for deck, seats in ((24, 2), (24, 4), (36, 6), (52, 3)):
        table = full(settings(deck=deck, seats=seats))
        table.play("A: leave")
        hashes = tuple(promise_of(seat) for seat in range(seats))
        known = Promises(table.match.table.server_seed_hash, hashes)
        for seat in range(seats):
            _, seen = table.shown_to(seat)
            player_id = sitting(seat).player_id
            check_deal(MATCH_ID, player_id, secret_of(seat), known, seen)


def test_records_of_a_reveal_fold_to_the_same_state() -> None:
    table = promised(settings())
    assert table.match.phase == PHASE_REVEALING
    again = Match()
    for record in table.records:
        again.apply(Record.FromString(record.SerializeToString()))
    assert again.table == table.match.table
    assert (again.phase, again.deadline_us()) == (table.match.phase, table.match.deadline_us())
