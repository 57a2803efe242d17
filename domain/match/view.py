"""Views of a match and of its events: the only ways out to a player or spectator.

Replies, streams, bots and the command line all use `table_view` and `redact`. A card that the
viewer may not see becomes CARD_UNSPECIFIED, the server seed becomes empty and a bot seed 0. Nothing
else in a match is secret, except whether a play on a tricky table is legal, which no event says.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias

from google.protobuf.timestamp_pb2 import Timestamp

from domain.cards import NO_CARD, Card, cards_in
from domain.match.fold import Match
from domain.match.moves import legal_moves
from domain.match.table import MICROSECONDS
from durak.v1.cards_pb2 import Suit
from durak.v1.events_pb2 import Event, SeatDraw
from durak.v1.match_service_pb2 import MatchSummary, SeatSummary
from durak.v1.table_pb2 import PHASE_PLAYING, PHASE_REVEALING, TableCard, TableView

_SUITS: Final = Suit.values()  # suit n of the core is value n + 1 of the contract

Viewer: TypeAlias = int | None
"""A seat, or None for a spectator."""


def timestamp(time_us: int) -> Timestamp:
    """Return the `Timestamp` of a time in microseconds since the Unix epoch."""
    time = Timestamp()
    set_time(time, time_us)
    return time


def set_time(time: Timestamp, time_us: int) -> None:
    """Set a `Timestamp` to a time in microseconds since the Unix epoch."""
    seconds, micros = divmod(time_us, MICROSECONDS)
    time.seconds = seconds
    time.nanos = micros * 1000


def table_view(match: Match, viewer: Viewer, now_us: int | None = None) -> TableView:
    """Return the table as seen by the player on seat ``viewer``, or by a spectator (None).

    ``now_us`` is the time of the reply that carries the view. Fields at their default are not set,
    for speed: this runs once for every command.
    """
    view = TableView.FromString(match.table.view_template)
    view.version = match.version
    view.last_event_time.CopyFrom(match.time)
    if now_us is not None:
        set_time(view.server_time, now_us)
    view.phase = match.phase
    if viewer is not None:
        view.your_seat = viewer
    deadline_us = match.deadline_us()
    if deadline_us is not None:
        set_time(view.deadline_time, deadline_us)
    if match.result is not None:
        view.result.CopyFrom(match.result)
    if match.hands:
        _add_cards(view, match)
        if viewer is not None:
            view.hand.extend(cards_in(match.hands[viewer]))
    if match.phase == PHASE_REVEALING:
        view.on_clock.extend(match.table.to_reveal)
    if match.phase == PHASE_PLAYING:
        _add_bout(view, match)
        if viewer is not None:
            view.moves.CopyFrom(legal_moves(match, viewer))
    return view


def _add_cards(view: TableView, match: Match) -> None:
    view.trump_suit = _SUITS[match.trump_suit + 1]
    view.trump_card = match.trump_card
    if match.stock:
        view.stock_count = len(match.stock)
    if match.discard:
        view.discard_count = match.discard.bit_count()
    view.bout = match.bout
    if match.bouts_without_discard:
        view.bouts_without_discard = match.bouts_without_discard
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
        _set_table_card(view.table.add(), match, attack)


def _add_bout(view: TableView, match: Match) -> None:
    view.attacker = match.attacker
    view.defender = match.defender
    if match.taking:
        view.taking = True
    view.attacks_left = match.cap - len(match.attacks)
    view.on_clock.extend(seats_in(match.on_clock()))


def _set_table_card(card: TableCard, match: Match, attack: Card) -> None:
    card.attack_card = attack
    card.attack_seat, card.attack_version = match.laid[attack]
    defence = match.beaten_by.get(attack)
    if defence:
        card.defence.card = defence
        card.defence.seat, card.defence.version = match.laid[defence]


def seats_in(mask: int) -> list[int]:
    """Return the seats of a bit mask in ascending order.

    >>> seats_in(0b1101)
    [0, 2, 3]
    """
    return [seat for seat in range(mask.bit_length()) if mask >> seat & 1]


def match_summary(match: Match) -> MatchSummary:
    """Return the entry of a match in lists: public facts that change with its phase or seats."""
    template = TableView.FromString(match.table.view_template)
    return MatchSummary(
        match_id=template.match_id,
        phase=match.phase,
        settings=template.settings,
        owner_id=template.owner_id,
        open_time=timestamp(match.opened_us),
        seats=[
            SeatSummary(
                seat=seat.seat,
                taken=seat.taken,
                player_id=seat.player_id,
                display_name=seat.display_name,
                bot_level=seat.bot_level,
            )
            for seat in template.seats
        ],
        version=match.version,
        result=match.result,
        rematch_of=template.rematch_of,
        reserved_for=template.reserved_for,
        is_private=template.is_private,
        invited=template.invited,
    )


def redact(event: Event, viewer: Viewer, trump_card: Card) -> Event:
    """Return an event as ``viewer`` may see it, or the event itself if it has no secrets.

    ``trump_card`` is the card that showed the trump suit, 0 before the deal. Everyone may see it
    in any hand.
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
    if kind == "seat_taken" and event.seat_taken.HasField("bot_seed"):
        redacted = Event()
        redacted.CopyFrom(event)
        redacted.seat_taken.ClearField("bot_seed")
        return redacted
    return event


def _face_down(cards: Iterable[Card], trump_card: Card) -> list[Card]:
    return [card if card == trump_card else NO_CARD for card in cards]
