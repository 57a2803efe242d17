"""Matches in words: cards, tables and events as lines for a terminal.

Pure functions from messages of the contract to text. What a reader may not see comes here as
`CARD_UNSPECIFIED` already, and is written as a card's back.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from domain.cards import NO_CARD, RANK_NAMES, RANK_OF, SUIT_OF, SUIT_SYMBOLS, Card
from durak.v1.events_pb2 import Event, Finished, LeftReason, Outcome, TookReason
from durak.v1.settings_pb2 import BotLevel, Settings, ThrowIn
from durak.v1.table_pb2 import SeatView, TableView

BACK: Final = "▒▒"
Names = Sequence[str]

# Ranks as they are typed, in Latin and Russian letters.
_TYPED_RANKS: Final = MappingProxyType(
    {name.lower(): at + 2 for at, name in enumerate(RANK_NAMES)}
    | {"t": 10, "в": 11, "д": 12, "к": 13, "т": 14}
)
_TYPED_SUITS: Final = MappingProxyType(
    {symbol: at for at, symbol in enumerate(SUIT_SYMBOLS)}
    | {"c": 0, "d": 1, "h": 2, "s": 3, "т": 0, "б": 1, "ч": 2, "п": 3}
)
_STYLES: Final = ("green", "blue", "red", "bold")  # the four colours, by suit


def card_text(card: Card) -> str:
    """A card as people write it, as in `10♥`; its back where it is hidden."""
    if card == NO_CARD:
        return BACK
    return RANK_NAMES[RANK_OF[card] - 2] + SUIT_SYMBOLS[SUIT_OF[card]]


def card_markup(card: Card, trump_suit: int = -1) -> str:
    """A card in the colour of its suit, trumps underlined, as rich markup."""
    if card == NO_CARD:
        return f"[dim]{BACK}[/]"
    suit = SUIT_OF[card]
    trump = " underline" if suit == trump_suit else ""
    return f"[{_STYLES[suit]}{trump}]{card_text(card)}[/]"


def cards_text(cards: Iterable[Card]) -> str:
    """Cards with a space between them."""
    return " ".join(map(card_text, cards))


def parse_card(text: str) -> Card | None:
    """The card that somebody typed, as in `6h`, `10♥`, `Тп`; None where it is none."""
    text = text.strip().lower()
    rank = _TYPED_RANKS.get(text[:-1])
    suit = _TYPED_SUITS.get(text[-1:])
    if rank is None or suit is None:
        return None
    return next(c for c in range(1, 53) if RANK_OF[c] == rank and SUIT_OF[c] == suit)  # type: ignore[return-value] # 1 ... 52 are the cards


def seat_name(seat: SeatView) -> str:
    """Whom the seat shows: a person's name, or the bot's level."""
    if not seat.taken:
        return "free"
    if seat.bot_level:
        return f"bot {BotLevel.Name(seat.bot_level).removeprefix('BOT_LEVEL_').lower()}"
    return seat.display_name or seat.player_id


def names_of(view: TableView) -> list[str]:
    """The names of the seats, by number; bots with their seat, since their names repeat."""
    return [
        f"{seat_name(seat)} #{seat.seat}" if seat.bot_level else seat_name(seat)
        for seat in view.seats
    ]


def settings_text(settings: Settings) -> str:
    """The settings of a table in one line."""
    circle = "neighbours" if settings.throw_in == ThrowIn.THROW_IN_NEIGHBOURS else "all"
    parts = [
        f"{settings.deck} cards",
        f"{settings.seats} seats",
        "perevodnoy" if settings.transfer else "podkidnoy",
        f"{circle} throw in",
        "draws" if settings.draw_allowed else "no draws",
    ]
    if settings.five_card_opening:
        parts.append("five-card opening")
    if settings.tricky:
        parts.append("tricky")
    if settings.turn_timer_seconds:
        parts.append(f"{settings.turn_timer_seconds} s a turn")
    if settings.stake_coins:
        parts.append(f"stake {settings.stake_coins}")
    return ", ".join(parts)


def result_text(result: Finished, names: Names) -> str:
    """How a match ended, in one sentence."""
    match result.outcome:
        case Outcome.OUTCOME_PLAYED_OUT:
            return f"{names[result.durak]} is the durak"
        case Outcome.OUTCOME_DRAW:
            return "a draw"
        case Outcome.OUTCOME_ABANDONED:
            return f"abandoned: {names[result.leaver]} left"
        case _:
            return "cancelled before the deal"


# --- events -------------------------------------------------------------------------------------

_LEFT: Final = MappingProxyType(
    {
        LeftReason.LEFT_REASON_RESIGNED: "leaves the match",
        LeftReason.LEFT_REASON_TIMEOUTS: "leaves: out of time for the third time in a row",
        LeftReason.LEFT_REASON_IDLE: "leaves: idle for too long",
    }
)
_TOOK: Final = MappingProxyType(
    {
        TookReason.TOOK_REASON_DECLARED: "takes",
        TookReason.TOOK_REASON_CHEAT: "was caught, and takes",
        TookReason.TOOK_REASON_FALSE_ACCUSATION: "accused falsely, and takes",
    }
)
_SENTENCES: Final[Mapping[str, Callable[[Any, Names], str]]] = MappingProxyType(
    {
        "table_opened": lambda e, _: f"table opened: {settings_text(e.settings)}",
        "seat_taken": lambda e, names: f"{names[e.seat]} sits down on seat {e.seat}",
        "seat_vacated": lambda e, _: f"seat {e.seat} is free again",
        "dealt": lambda e, names: (
            f"dealt: trump {card_text(e.trump_card)}, {len(e.stock)} in the stock, "
            f"{names[e.first_attacker]} leads"
        ),
        "attacked": lambda e, names: f"{names[e.seat]} plays {card_text(e.card)}",
        "defended": lambda e, names: (
            f"{names[e.seat]} beats {card_text(e.attack_card)} with {card_text(e.card)}"
        ),
        "transferred": lambda e, names: f"{names[e.seat]} transfers with {card_text(e.card)}",
        "passed": lambda e, names: f"{names[e.seat]} passes",
        "take_declared": lambda e, names: f'{names[e.seat]} says "take"',
        "took": lambda e, names: f"{names[e.seat]} {_TOOK[e.reason]} {cards_text(e.cards)}",
        "discarded": lambda e, _: f"beaten: {cards_text(e.cards)} go to the discard pile",
        "drew": lambda e, names: (
            "drawn: " + ", ".join(f"{names[d.seat]} {cards_text(d.cards)}" for d in e.draws)
        ),
        "went_out": lambda e, names: (
            f"{' and '.join(names[seat] for seat in e.seats)} out, place {e.place}"
        ),
        "challenged": lambda e, names: (
            f"{names[e.seat]} challenges version {e.play_version}: "
            f"{'it was illegal' if e.upheld else 'it was legal'}"
        ),
        "timed_out": lambda e, names: f"the time of {names[e.seat]} is over",
        "left": lambda e, names: f"{names[e.seat]} {_LEFT[e.reason]}",
        "finished": lambda e, names: f"finished: {result_text(e, names)}",
    }
)


def sentence(event: Event, names: Names) -> str:
    """One event as a sentence. Raises `KeyError` on a kind that this version does not know."""
    kind = event.WhichOneof("kind") or ""
    return _SENTENCES[kind](getattr(event, kind), names)


def transcript_line(version: int, event: Event, names: Names) -> str:
    """One event as a line of a transcript; what ends a bout stands further in."""
    follows = event.WhichOneof("kind") in {"took", "discarded", "drew", "went_out", "dealt"}
    return f"{version:5}  {'  ' if follows else ''}{sentence(event, names)}"
