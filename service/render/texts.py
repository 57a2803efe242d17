"""The language that a terminal speaks, and the names of who sits where in it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final
from urllib.parse import unquote

from domain.cards import SUIT_SYMBOLS
from durak.v1.settings_pb2 import BotLevel, Settings, ThrowIn
from service.text.card_text import CardTexts

Translate = Callable[..., str]
"""``say("event-passed", player="Anna")``: one text of `table.ftl`, its arguments by keyword."""

NO_TRUMP_YET: Final = -1


def translator(language: str) -> Translate:
    """The texts of `table.ftl` in one of `localisation.LANGUAGES`. Reads the files."""
    texts = CardTexts("table")

    def translate(key: str, **arguments: str | int) -> str:
        return texts.format(key, language, arguments)

    return translate


class Names:
    """What each seat is called: the player's name, or which bot it is.

    Two players of one name are told apart by their seats.
    """

    def __init__(self, translate: Translate) -> None:
        self._translate = translate
        self._by_seat: dict[int, str] = {}

    def seat(self, number: int, display_name: str, level: BotLevel.ValueType) -> None:
        """Somebody sits down. Characters that could steer the terminal are left out."""
        if level:
            word = BotLevel.Name(level).removeprefix("BOT_LEVEL_").lower()
            self._by_seat[number] = self._translate("bot", seat=number, level=word)
            return
        shown = printable(display_name) or self._translate("nobody", seat=number)
        taken = any(shown == name for seat, name in self._by_seat.items() if seat != number)
        self._by_seat[number] = f"{shown} ({number})" if taken else shown

    def vacate(self, number: int) -> None:
        """The seat is free again."""
        self._by_seat.pop(number, None)

    def __getitem__(self, number: int) -> str:
        return self._by_seat.get(number) or self._translate("nobody", seat=number)

    def join(self, seats: Iterable[int]) -> str:
        """Several seats, by comma."""
        return ", ".join(self[seat] for seat in seats)

    def join_with(self, words: Mapping[int, str | int]) -> str:
        """Several seats, each with a word: ``Anna 6, Boris 5``."""
        return ", ".join(f"{self[seat]} {word}" for seat, word in words.items())


def player_name(player_id: str) -> str:
    """A player's id as it reads where no display name goes with it: `durak` encodes names."""
    return printable(unquote(player_id))


def printable(text: str) -> str:
    """A text from outside without control characters."""
    return "".join(character for character in text if character.isprintable())


def suit_symbol(trump_suit: int) -> str:
    """The suit, counted from 0, as a symbol; a dash where there is none yet."""
    return SUIT_SYMBOLS[trump_suit] if trump_suit >= 0 else "–"


def settings_line(settings: Settings, translate: Translate) -> str:
    """The settings of a table in one line."""
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
