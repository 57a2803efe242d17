"""Cards in the letters of a language: J♠ is В♠ in Russian and Β♠ in Greek."""

import re
from collections.abc import Mapping
from typing import Final

from domain.cards import RANK_NAMES, SUIT_SYMBOLS
from service.text.localisation import LANGUAGES, Texts

_ARGUMENTS: Final = frozenset(
    {"attack", "attack_card", "card", "cards", "expected", "found", "theirs", "yours"}
)
"""The variables that contain cards. Others may contain names of players, which stay as they are."""
_CARD: Final = re.compile(rf"\b([JQKA])([{SUIT_SYMBOLS}])")


class Spelling:
    """The letters of every language. Reads the files when it is created."""

    def __init__(self) -> None:
        texts = Texts("cards")
        self._letters = {
            language: {
                letter: texts.format(rank, language)
                for letter, rank in (("J", "jack"), ("Q", "queen"), ("K", "king"), ("A", "ace"))
            }
            for language in LANGUAGES
        }

    def ranks(self, language: str) -> list[str]:
        """Return all ranks, rising from 2."""
        letters = self._letters[language]
        return [letters.get(rank, rank) for rank in RANK_NAMES]

    def arguments(self, given: Mapping[str, str | int], language: str) -> dict[str, str | int]:
        """Return the variables of a text, with cards in the letters of the language."""
        return {
            name: self.spell(value, language)
            if name in _ARGUMENTS and isinstance(value, str)
            else value
            for name, value in given.items()
        }

    def spell(self, text: str, language: str) -> str:
        """Return a text in which cards of `domain.cards` have the letters of the language."""
        letters = self._letters[language]
        return _CARD.sub(lambda found: letters[found[1]] + found[2], text)


class CardTexts(Texts):
    """The messages of a topic with cards, which get the letters of the language."""

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self.spelling = Spelling()

    def format(
        self, key: str, language: str, arguments: Mapping[str, str | int] | None = None
    ) -> str:
        """Format as `Texts.format` does, with cards in the letters of the language."""
        return super().format(key, language, self.spelling.arguments(arguments or {}, language))
