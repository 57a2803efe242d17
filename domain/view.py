"""The only ways out to a player or spectator: `table_view` of a match, `redact` of an event.

Replies, streams, bots and the command line all go through them. What a reader may not see is a
`CARD_UNSPECIFIED` where a card would be, an empty server seed, a bot seed of 0; nothing else of a
match is secret, except whether a play on a tricky table was legal, which is not in any event.
"""

import uuid
from collections.abc import Iterable

from google.protobuf.timestamp_pb2 import Timestamp

from domain.cards import NO_CARD, Card, cards_in
from domain.match import Match
from domain.moves import legal_moves
from domain.table import MICROSECONDS, Seat
from durak.v1.cards_pb2 import Suit
from durak.v1.events_pb2 import Event, SeatDraw
from durak.v1.match_service_pb2 import MatchSummary
from durak.v1.table_pb2 import PHASE_PLAYING, SeatView, TableCard, TableView

_SUITS = Suit.values()  # by number, so that suit 0 of the core is value 1 of the contract

Viewer = int | None  # a seat, or None for a spectator


def timestamp(time_us: int) -> Timestamp:
    """A time in microseconds since the Unix epoch as the contract gives it."""
    seconds, micros = divmod(time_us, MICROSECONDS)
    return Timestamp(seconds=seconds, nanos=micros * 1000)


def table_view(match: Match, viewer: Viewer) -> TableView:
    """The table as the player on seat ``viewer``, or a spectator (None), sees it."""
    table = match.table
    playing = match.phase == PHASE_PLAYING
    deadline_us = match.deadline_us()
    view = TableView(
        match_id=str(uuid.UUID(bytes=match.match_id)),
        version=match.version,
        time=timestamp(match.time_us),
        phase=match.phase,
        settings=table.settings,
        rules_version=table.rules_version,
        owner_id=table.owner_id,
        server_seed_hash=table.server_seed_hash,
        seats=_seat_views(match),
        your_seat=viewer,
        trump_suit=_SUITS[match.trump_suit + 1],
        trump_card=match.trump_card,
        stock_count=len(match.stock),
        discard_count=match.discard.bit_count(),
        table=[_table_card(match, attack) for attack in match.attacks],
        attacker=match.attacker if playing else None,
        defender=match.defender if playing else None,
        taking=match.taking,
        attacks_left=max(0, match.cap - len(match.attacks)) if playing else 0,
        on_clock=seats_in(match.on_clock()),
        deadline=None if deadline_us is None else timestamp(deadline_us),
        bout=match.bout,
        bouts_without_discard=match.dry_bouts,
        result=match.result,
        rematch_of=table.rematch_of,
        reserved_for=table.reserved_for,
    )
    if viewer is not None and match.hands:
        view.hand.extend(cards_in(match.hands[viewer]))
        view.moves.CopyFrom(legal_moves(match, viewer))
    return view


def _table_card(match: Match, attack: Card) -> TableCard:
    laid = match.laid[attack]
    card = TableCard(attack_card=attack, attack_seat=laid.seat, attack_version=laid.version)
    defence = match.beaten_by.get(attack)
    if defence:
        laid = match.laid[defence]
        card.defence_card = defence
        card.defence_seat = laid.seat
        card.defence_version = laid.version
    return card


def seats_in(mask: int) -> list[int]:
    """The seats of a bit mask of seats, rising."""
    return [seat for seat in range(mask.bit_length()) if mask >> seat & 1]


def _seat_views(match: Match) -> list[SeatView]:
    views = [_occupant(number, seat) for number, seat in enumerate(match.table.seats)]
    if match.hands:
        place_of = {seat: place for place, seat in match.places}
        for number, view in enumerate(views):
            view.card_count = match.hands[number].bit_count()
            view.passed = bool(match.passed >> number & 1)
            view.place = place_of.get(number, 0)
            view.timeouts_in_a_row = match.timeouts[number]
    return views


def _occupant(number: int, seat: Seat | None) -> SeatView:
    if seat is None:
        return SeatView(seat=number)
    return SeatView(
        seat=number,
        taken=True,
        player_id=seat.player_id,
        display_name=seat.display_name,
        bot_level=seat.bot_level,
        client_seed=seat.client_seed,
    )


def summary(match: Match) -> MatchSummary:
    """The match as lists show it: public facts, as of the last change of phase or seats."""
    return MatchSummary(
        match_id=str(uuid.UUID(bytes=match.match_id)),
        phase=match.phase,
        settings=match.table.settings,
        owner_id=match.table.owner_id,
        opened_at=timestamp(match.opened_us),
        seats=[_occupant(number, seat) for number, seat in enumerate(match.table.seats)],
        version=match.version,
        result=match.result,
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
