"""The only ways out to a player or spectator: `table_view` of a match, `redact` of an event.

Replies, streams, bots and the command line all go through them. What a reader may not see is a
`CARD_UNSPECIFIED` where a card would be, an empty server seed, a bot seed of 0; nothing else of a
match is secret, except whether a play on a tricky table was legal, which is not in any event.
"""

from collections.abc import Iterable

from google.protobuf.timestamp_pb2 import Timestamp

from domain.cards import NO_CARD, Card, cards_in
from domain.match.fold import Match
from domain.match.moves import legal_moves
from domain.match.table import MICROSECONDS
from durak.v1.cards_pb2 import Suit
from durak.v1.events_pb2 import Event, SeatDraw
from durak.v1.match_service_pb2 import MatchSummary
from durak.v1.table_pb2 import PHASE_PLAYING, TableCard, TableView

_SUITS = Suit.values()  # by number, so that suit 0 of the core is value 1 of the contract

Viewer = int | None  # a seat, or None for a spectator


def timestamp(time_us: int) -> Timestamp:
    """A time in microseconds since the Unix epoch as the contract gives it."""
    time = Timestamp()
    set_time(time, time_us)
    return time


def set_time(time: Timestamp, time_us: int) -> None:
    """Make a time of the contract this one, in microseconds since the Unix epoch."""
    seconds, micros = divmod(time_us, MICROSECONDS)
    time.seconds = seconds
    time.nanos = micros * 1000


def table_view(match: Match, viewer: Viewer) -> TableView:
    """The table as the player on seat ``viewer``, or a spectator (None), sees it.

    Fields that are at their default are left alone: this runs once for every command.
    """
    view = TableView.FromString(match.table.face)
    view.version = match.version
    view.last_event_time.CopyFrom(match.time)
    view.phase = match.phase
    if viewer is not None:
        view.your_seat = viewer
    deadline_us = match.deadline_us()
    if deadline_us is not None:
        set_time(view.deadline_time, deadline_us)
    if match.result is not None:
        view.result.CopyFrom(match.result)
    if match.hands:
        _show_cards(view, match)
        if viewer is not None:
            view.hand.extend(cards_in(match.hands[viewer]))
    if match.phase == PHASE_PLAYING:
        _show_bout(view, match)
        if viewer is not None:
            view.moves.CopyFrom(legal_moves(match, viewer))
    return view


def _show_cards(view: TableView, match: Match) -> None:
    view.trump_suit = _SUITS[match.trump_suit + 1]
    view.trump_card = match.trump_card
    if match.stock:
        view.stock_count = len(match.stock)
    if match.discard:
        view.discard_count = match.discard.bit_count()
    view.bout = match.bout
    if match.dry_bouts:
        view.bouts_without_discard = match.dry_bouts
    for seat, hand in zip(view.seats, match.hands, strict=True):
        seat.card_count = hand.bit_count()
    for place, number in match.places:
        view.seats[number].place = place
    if any(match.timeouts):
        for seat, timeouts in zip(view.seats, match.timeouts, strict=True):
            seat.timeouts_in_a_row = timeouts
    for number in seats_in(match.passed):
        view.seats[number].passed = True
    for attack in match.attacks:
        _show_attack(view.table.add(), match, attack)


def _show_bout(view: TableView, match: Match) -> None:
    view.attacker = match.attacker
    view.defender = match.defender
    if match.taking:
        view.taking = True
    view.attacks_left = match.cap - len(match.attacks)
    view.on_clock.extend(seats_in(match.on_clock()))


def _show_attack(card: TableCard, match: Match, attack: Card) -> None:
    card.attack_card = attack
    card.attack_seat, card.attack_version = match.laid[attack]
    defence = match.beaten_by.get(attack)
    if defence:
        card.defence.card = defence
        card.defence.seat, card.defence.version = match.laid[defence]


def seats_in(mask: int) -> list[int]:
    """The seats of a bit mask of seats, rising."""
    return [seat for seat in range(mask.bit_length()) if mask >> seat & 1]


def match_summary(match: Match) -> MatchSummary:
    """The match as lists show it: public facts, as of the last change of phase or seats."""
    face = TableView.FromString(match.table.face)
    return MatchSummary(
        match_id=face.match_id,
        phase=match.phase,
        settings=face.settings,
        owner_id=face.owner_id,
        open_time=timestamp(match.opened_us),
        seats=face.seats,
        version=match.version,
        result=match.result,
        rematch_of=face.rematch_of,
        reserved_for=face.reserved_for,
    )


def redact(event: Event, viewer: Viewer, trump_card: Card) -> Event:
    """The event as this reader may see it; the same object where nothing is hidden from anybody.

    ``trump_card`` is the card that showed the trumps, which everybody may see wherever it goes
    (0 before the deal).
    """
    kind = event.WhichOneof("kind")
    if kind == "drew":
        redacted = Event()
        for draw in event.drew.draws:
            shown = draw.cards if draw.seat == viewer else _face_down(draw.cards, trump_card)
            redacted.drew.draws.append(SeatDraw(seat=draw.seat, cards=shown))
        return redacted
    if kind == "dealt":
        redacted = Event()
        redacted.CopyFrom(event)
        dealt = redacted.dealt
        for hand in dealt.hands:
            if hand.seat != viewer:
                hand.cards[:] = _face_down(hand.cards, dealt.trump_card)
        dealt.stock[:] = _face_down(dealt.stock, dealt.trump_card)
        return redacted
    if kind == "table_opened":
        redacted = Event()
        redacted.CopyFrom(event)
        redacted.table_opened.ClearField("server_seed")
        return redacted
    if kind == "seat_taken" and event.seat_taken.bot_seed:
        redacted = Event()
        redacted.CopyFrom(event)
        redacted.seat_taken.ClearField("bot_seed")
        return redacted
    return event


def _face_down(cards: Iterable[Card], trump_card: Card) -> list[Card]:
    return [card if card == trump_card else NO_CARD for card in cards]
