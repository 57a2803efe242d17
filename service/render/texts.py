"""The texts of a match in one language, and the names of its seats."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final
from urllib.parse import unquote

from domain.cards import SUIT_SYMBOLS
from durak.v1.settings_pb2 import BotLevel, Settings, ThrowIn
from service.text.card_text import CardTexts
from service.text.localisation import Translate

NO_TRUMP_YET: Final = -1


def translator(language: str) -> Translate:
    """Return the function that formats messages of `table.ftl` in a language. Reads the files."""
    return CardTexts("table").translator(language)


class Names:
    """The name shown for each seat: the player's name, or the bot's level.

    Players of the same name get their seat number added.
    """

    def __init__(self, translate: Translate) -> None:
        self._translate = translate
        self._by_seat: dict[int, str] = {}

    def add(self, seat: int, display_name: str, level: BotLevel.ValueType) -> None:
        """Name a seat. Removes characters that could control the terminal."""
        if level:
            word = BotLevel.Name(level).removeprefix("BOT_LEVEL_").lower()
            self._by_seat[seat] = self._translate("bot", seat=seat, level=word)
            return
        shown = printable(display_name) or self._translate("nobody", seat=seat)
        is_taken = any(shown == name for other, name in self._by_seat.items() if other != seat)
        self._by_seat[seat] = f"{shown} ({seat})" if is_taken else shown

    def remove(self, seat: int) -> None:
        """Forget the name of a seat that is free again."""
        self._by_seat.pop(seat, None)

    def __getitem__(self, seat: int) -> str:
        return self._by_seat.get(seat) or self._translate("nobody", seat=seat)

    def join(self, seats: Iterable[int]) -> str:
        """Return the names of several seats, separated by commas."""
        return ", ".join(self[seat] for seat in seats)

    def join_with(self, words: Mapping[int, str | int]) -> str:
        """Return the names of several seats, each with a word: ``Anna 6, Boris 5``."""
        return ", ".join(f"{self[seat]} {word}" for seat, word in words.items())


def player_name(player_id: str) -> str:
    """Return a player's id as text. `durak --name` percent-encodes names into ids.

    >>> player_name("%D0%90%D0%BD%D0%BD%D0%B0")
    'Анна'
    """
    return printable(unquote(player_id))


def printable(text: str) -> str:
    r"""Return untrusted text without control characters.

    >>> printable("Anna\x1b[2J")
    'Anna[2J'
    """
    return "".join(character for character in text if character.isprintable())


def format_utc(time_us: int) -> str:
    """Return a time in microseconds since 1970 as text. Accepts any number.

    >>> format_utc(1_800_000_000_000_000)
    '2027-01-15 08:00:00 UTC'
    """
    try:
        return f"{datetime.fromtimestamp(time_us / 1e6, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f"{time_us} µs"


def suit_symbol(trump_suit: int) -> str:
    """Return the symbol of a suit, counted from 0; a dash for `NO_TRUMP_YET`."""
    return SUIT_SYMBOLS[trump_suit] if trump_suit >= 0 else "–"


def settings_line(settings: Settings, translate: Translate) -> str:
    """Return the settings of a table in one line."""
    parts = [
        translate(
            "settings",
            deck=settings.deck,
            seats=settings.seats,
            transfer="yes" if settings.transfer else "no",
            circle="all" if settings.throw_in == ThrowIn.THROW_IN_ALL else "neighbours",
            draws="yes" if settings.draw_allowed else "no",
        )
    ]
    if settings.five_card_opening:
        parts.append(translate("setting-opening"))
    if settings.tricky:
        parts.append(translate("setting-tricky"))
    if settings.turn_timer_seconds:
        parts.append(translate("setting-timer", seconds=settings.turn_timer_seconds))
    if settings.stake_coins:
        parts.append(translate("setting-stake", coins=settings.stake_coins))
    if settings.preset:
        parts.append(translate("setting-preset", preset=printable(settings.preset)))
    return ", ".join(parts)
