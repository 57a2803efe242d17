"""Narration of a match: one or more sentences for each event.

It works on redacted and on complete events. The narrator keeps the little state that the sentences
need: names, card counts, the bout and the cards on the table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Self

from domain.cards import SUIT_OF, Card, card_name
from durak.v1 import events_pb2
from durak.v1.events_pb2 import Event, LeftReason, Outcome, TookReason
from durak.v1.table_pb2 import TableView
from service.render.cards import format_cards, format_hand
from service.render.texts import NO_TRUMP_YET, Names, settings_line, suit_symbol
from service.text.localisation import Translate


class LineKind(Enum):
    """What a line is about."""

    EVENT = auto()
    BOUT = auto()  # a heading, before the lead that opens the bout
    RESULT = auto()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the narration."""

    text: str
    kind: LineKind = LineKind.EVENT


class Narrator:
    """Describes the events of one match, in order from version 1 or from a view on."""

    def __init__(self, translate: Translate) -> None:
        self._translate = translate
        self.names = Names(translate)
        self.trump_suit = NO_TRUMP_YET
        self._version = 0
        self._bout = 0
        self._stock = 0
        self._hands: dict[int, int] = {}  # cards held, by seat in play
        self._seats = 0
        self._on_table = 0
        self._defender = 0
        self._played_by: dict[int, int] = {}  # version of a play → seat, in the current bout

    @classmethod
    def resume(cls, view: TableView, names: Names, translate: Translate) -> Self:
        """Return a narrator for the events after a view. `names` are those of the view's seats."""
        narrator = cls(translate)
        narrator.names, narrator.trump_suit = names, view.trump_suit - 1
        narrator._version, narrator._bout, narrator._stock = (
            view.version,
            view.bout,
            view.stock_count,
        )
        narrator._seats, narrator._defender = len(view.seats), view.defender
        if view.trump_card:
            narrator._hands = {it.seat: it.card_count for it in view.seats if not it.place}
        for card in view.table:
            narrator._played_by[card.attack_version] = card.attack_seat
            if card.defence.card:
                narrator._played_by[card.defence.version] = card.defence.seat
        narrator._on_table = len(narrator._played_by)
        return narrator

    def describe(self, event: Event) -> list[Line]:
        """Return the lines for the next event. Raises ValueError for an unknown kind of event."""
        self._version += 1
        kind = event.WhichOneof("kind")
        if kind is None:
            raise ValueError(f"version {self._version} has an unknown kind of event")
        lines: str | list[Line] = getattr(self, f"_{kind}")(getattr(event, kind))
        return [Line(lines)] if isinstance(lines, str) else lines

    def numbered_lines(self, event: Event) -> list[str]:
        """Return the lines for the next event with its version; a blank line before each bout."""
        lines = []
        number: int | str = self._version + 1
        for line in self.describe(event):
            if line.kind is LineKind.BOUT:
                lines += ["", line.text]
            else:
                lines.append(f"{number:>5}  {line.text}")
                number = ""
        return lines

    # Before the deal.

    def _table_opened(self, event: events_pb2.TableOpened) -> str:
        self._seats = event.settings.seats
        settings = settings_line(event.settings, self._translate)
        return self._translate("event-table-opened", settings=settings)

    def _seat_taken(self, event: events_pb2.SeatTaken) -> str:
        self.names.add(event.seat, event.display_name or event.player_id, event.bot_level)
        return self._translate("event-seat-taken", player=self.names[event.seat], seat=event.seat)

    def _seat_vacated(self, event: events_pb2.SeatVacated) -> str:
        player = self.names[event.seat]
        self.names.remove(event.seat)
        key = "event-player-removed" if event.removed else "event-seat-vacated"
        return self._translate(key, player=player, seat=event.seat)

    def _seed_revealed(self, event: events_pb2.SeedRevealed) -> str:
        return self._translate("event-seed-revealed", player=self.names[event.seat])

    def _dealt(self, event: events_pb2.Dealt) -> list[Line]:
        self.trump_suit = SUIT_OF[event.trump_card]
        self._stock = len(event.stock)
        lines = [
            Line(
                self._translate(
                    "event-dealt",
                    trump=suit_symbol(self.trump_suit),
                    card=card_name(event.trump_card),
                    stock=self._stock,
                )
            )
        ]
        for hand in event.hands:
            self._hands[hand.seat] = len(hand.cards)
            if all(hand.cards):
                cards = format_hand(hand.cards, self.trump_suit)
                player = self.names[hand.seat]
                lines.append(Line(self._translate("event-hand", player=player, cards=cards)))
        return lines

    # The bout.

    def _attacked(self, event: events_pb2.Attacked) -> list[Line]:
        lines = []
        key = "event-thrown-in"
        if not self._on_table:
            key = "event-led"
            self._bout += 1
            self._defender = self._next_in_play(event.seat)
            lines.append(self._heading(event.seat))
        self._play(event.seat)
        lines.append(Line(self._card_line(key, event.seat, event.card)))
        return lines

    def _defended(self, event: events_pb2.Defended) -> str:
        self._play(event.seat)
        beaten = card_name(event.attack_card)
        return self._card_line("event-defended", event.seat, event.card, attack_card=beaten)

    def _transferred(self, event: events_pb2.Transferred) -> str:
        self._defender = self._next_in_play(event.seat)
        self._play(event.seat)
        defender = self.names[self._defender]
        return self._card_line("event-transferred", event.seat, event.card, defender=defender)

    def _passed(self, event: events_pb2.Passed) -> str:
        return self._translate("event-passed", player=self.names[event.seat])

    def _take_declared(self, event: events_pb2.TakeDeclared) -> str:
        return self._translate("event-take-declared", player=self.names[event.seat])

    def _challenged(self, event: events_pb2.Challenged) -> str:
        return self._translate(
            "event-challenged",
            player=self.names[event.seat],
            accused=self.names[self._played_by[event.play_version]],
            verdict="upheld" if event.upheld else "legal",
        )

    def _took(self, event: events_pb2.Took) -> str:
        self._hands[event.seat] += len(event.cards)
        self._clear()
        key = {
            TookReason.TOOK_REASON_CHEAT: "event-took-cheat",
            TookReason.TOOK_REASON_FALSE_ACCUSATION: "event-took-false-accusation",
        }.get(event.reason, "event-took")
        player = self.names[event.seat]
        return self._translate(
            key, player=player, count=len(event.cards), cards=format_cards(event.cards)
        )

    def _discarded(self, event: events_pb2.Discarded) -> str:
        self._clear()
        return self._translate("event-discarded", count=len(event.cards))

    def _drew(self, event: events_pb2.Drew) -> str:
        draws: dict[int, str | int] = {}
        for draw in event.draws:
            count = len(draw.cards)
            self._hands[draw.seat] += count
            self._stock -= count
            seen = any(draw.cards)
            draws[draw.seat] = (
                self._translate("drawn", count=count, cards=format_cards(draw.cards))
                if seen
                else count
            )
        return self._translate("event-drew", draws=self.names.join_with(draws))

    def _went_out(self, event: events_pb2.WentOut) -> str:
        for seat in event.seats:
            self._hands.pop(seat)
        players = self.names.join(event.seats)
        return self._translate("event-went-out", place=event.place, players=players)

    # The end.

    def _timed_out(self, event: events_pb2.TimedOut) -> str:
        return self._translate("event-timed-out", player=self.names[event.seat])

    def _left(self, event: events_pb2.Left) -> str:
        reason = LeftReason.Name(event.reason).removeprefix("LEFT_REASON_").lower()
        return self._translate("event-left", player=self.names[event.seat], reason=reason)

    def _finished(self, event: events_pb2.Finished) -> list[Line]:
        lines = [Line(result_line(event, self.names, self._translate), LineKind.RESULT)]
        shares: dict[int, str | int] = {one.seat: one.share_coins for one in event.results}
        if any(shares.values()):
            text = self._translate("event-shares", shares=self.names.join_with(shares))
            lines.append(Line(text, LineKind.RESULT))
        return lines

    # State.

    def _play(self, seat: int) -> None:
        self._hands[seat] -= 1
        self._on_table += 1
        self._played_by[self._version] = seat

    def _clear(self) -> None:
        self._on_table = 0
        self._played_by.clear()

    def _next_in_play(self, seat: int) -> int:
        after = [(seat + step) % self._seats for step in range(1, self._seats + 1)]
        return next((other for other in after if other in self._hands), seat)

    def _heading(self, attacker: int) -> Line:
        text = self._translate(
            "bout",
            bout=self._bout,
            attacker=self.names[attacker],
            defender=self.names[self._defender],
            hands=self.names.join_with({seat: self._hands[seat] for seat in sorted(self._hands)}),
            stock=self._stock,
        )
        return Line(text, LineKind.BOUT)

    def _card_line(self, key: str, seat: int, card: Card, **more: Any) -> str:  # noqa: ANN401
        return self._translate(key, player=self.names[seat], card=card_name(card), **more)


def result_line(result: events_pb2.Finished, names: Names, translate: Translate) -> str:
    """Return the result of a match in one line (R9)."""
    match result.outcome:
        case Outcome.OUTCOME_PLAYED_OUT:
            return translate(
                "event-played-out",
                durak=names[result.durak],
                places=_places(result, names, translate),
            )
        case Outcome.OUTCOME_DRAW:
            last = max(seat.place for seat in result.results)
            sharing = [seat.seat for seat in result.results if seat.place == last]
            return translate("event-draw", players=names.join(sharing))
        case Outcome.OUTCOME_CANCELLED if result.prevented_by:
            return translate("event-deal-prevented", players=names.join(result.prevented_by))
        case Outcome.OUTCOME_CANCELLED:
            return translate("event-cancelled")
        case _:
            return translate("event-abandoned", leaver=names[result.leaver])


def _places(result: events_pb2.Finished, names: Names, translate: Translate) -> str:
    places: dict[int, list[int]] = {}
    for seat in result.results:
        places.setdefault(seat.place, []).append(seat.seat)
    texts: Sequence[str] = [
        translate("place", place=place, players=names.join(seats))
        for place, seats in sorted(places.items())
    ]
    return ", ".join(texts)
