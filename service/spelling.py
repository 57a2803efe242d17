"""Cards in the letters of a language: J♠ is В♠ in Russian and Β♠ in Greek."""

import re
from typing import Final

from domain.cards import RANK_NAMES, SUIT_SYMBOLS
from service.localisation import LANGUAGES, Texts

_CARD: Final = re.compile(rf"\b([JQKA])([{SUIT_SYMBOLS}])")


class Spelling:
    """The letters of every language. Reads the files once, when it is made."""

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
        """All ranks, rising from 2."""
        letters = self._letters[language]
        return [letters.get(rank, rank) for rank in RANK_NAMES]

    def spell(self, text: str, language: str) -> str:
        """A text that names cards as `domain.cards` does, with those of the language."""
        letters = self._letters[language]
        return _CARD.sub(lambda found: letters[found[1]] + found[2], text)
