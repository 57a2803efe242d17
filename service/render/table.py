"""A table as its reader sees it, line by line."""

from collections.abc import Iterable

from domain.cards import card_name
from durak.v1.audit_service_pb2 import OpenState
from durak.v1.match_service_pb2 import SeatSummary
from durak.v1.table_pb2 import PHASE_ENDED, PHASE_REVEALING, PHASE_WAITING, SeatView, TableView
from service.render.cards import FACE_DOWN, format_cards, format_hand
from service.render.narration import result_line
from service.render.texts import Names, settings_line, suit_symbol
from service.text.localisation import Translate

NAME_WIDTH_MAX = 18
_UNBEATEN = "…"


def trump_suit(view: TableView) -> int:
    """Return the trump suit counted from 0, as `domain` does; -1 before the deal."""
    return view.trump_suit - 1


def seat_names(seats: Iterable[SeatView | SeatSummary], translate: Translate) -> Names:
    """Return the names of the taken seats of a view or a summary."""
    names = Names(translate)
    for seat in seats:
        if seat.taken:
            names.add(seat.seat, seat.display_name or seat.player_id, seat.bot_level)
    return names


def table_lines(view: TableView, translate: Translate) -> list[str]:
    """Return the lines of a table: the bout, the seats, the cards on the table, the hand."""
    names = seat_names(view.seats, translate)
    lines = [_head(view, translate)]
    lines.extend(_seat_lines(view, names, translate))
    if view.table:
        lines.append(translate("on-table", cards=on_table(view)))
        if not view.result.results:
            lines.append(translate("attacks-left", count=view.attacks_left))
    if view.hand:
        lines.append(translate("hand", cards=format_hand(view.hand, trump_suit(view))))
    if view.phase == PHASE_ENDED:
        lines.append(result_line(view.result, names, translate))
    return lines


def open_table_lines(state: OpenState, translate: Translate) -> list[str]:
    """Return the lines of a table with every hand and the stock."""
    names = seat_names(state.view.seats, translate)
    lines = table_lines(state.view, translate)
    for seat in state.seats:
        if seat.hand:
            cards = format_hand(seat.hand, trump_suit(state.view))
            lines.append(translate("hand-of", player=names[seat.seat], cards=cards))
    if state.stock:
        lines.append(translate("stock", cards=format_cards(state.stock)))
    return lines


def on_table(view: TableView) -> str:
    """Return each attack card and the card that beat it: ``6♥/9♥ 7♣/…``."""
    return " ".join(
        f"{card_name(card.attack_card)}/"
        f"{card_name(card.defence.card) if card.defence.card else _UNBEATEN}"
        for card in view.table
    )


def _head(view: TableView, translate: Translate) -> str:
    if view.phase == PHASE_WAITING:
        return translate("table-waiting", settings=settings_line(view.settings, translate))
    if view.phase == PHASE_REVEALING:
        return translate("table-revealing", settings=settings_line(view.settings, translate))
    if not view.trump_card:
        return translate("table-ended")
    return translate(
        "table-bout",
        bout=view.bout,
        trump=suit_symbol(trump_suit(view)),
        card=card_name(view.trump_card),
        stock=view.stock_count,
        discard=view.discard_count,
    )


def _seat_lines(view: TableView, names: Names, translate: Translate) -> list[str]:
    labels = [names[seat.seat][:NAME_WIDTH_MAX] for seat in view.seats]
    width = max(map(len, labels), default=0)
    lines = []
    for seat, label in zip(view.seats, labels, strict=True):
        words = ", ".join(_seat_words(view, seat, translate))
        cards = FACE_DOWN * seat.card_count if view.trump_card else ""
        count = f"{seat.card_count:>2} " if view.trump_card else ""
        lines.append(f"  {label:<{width}}  {count}{cards} {words}".rstrip())
    return lines


def _seat_words(view: TableView, seat: SeatView, translate: Translate) -> list[str]:
    words = []
    if not seat.taken:
        words.append(translate("seat-free"))
    if view.HasField("your_seat") and seat.seat == view.your_seat:
        words.append(translate("seat-you"))
    if seat.place:
        words.append(translate("seat-out", place=seat.place))
    if view.HasField("attacker") and seat.seat == view.attacker:
        words.append(translate("seat-attacks"))
    if view.HasField("defender") and seat.seat == view.defender:
        words.append(translate("seat-takes" if view.taking else "seat-defends"))
    if seat.passed:
        words.append(translate("seat-passed"))
    if seat.seat in view.on_clock:
        words.append(translate("seat-to-move"))
    return words
