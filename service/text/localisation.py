"""Texts for people in English, Russian and Greek.

The texts are Fluent files, `locale/<language>/<topic>.ftl`. A topic is one kind of text, such as
`errors`. Every language has the same topics and messages. English is the default.

>>> Texts("errors").format("rate-limited", "ru")
'Вы слишком торопитесь. Подождите немного и попробуйте снова.'
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from fluent.runtime import FluentBundle, FluentResource

LANGUAGES = ("en", "ru", "el")
"""The languages of all texts, as BCP 47 tags. The first is the default."""

Translate = Callable[..., str]
"""``translate("event-passed", player="Anna")``: one message, its variables as keywords."""

LOCALE_DIR = Path(__file__).parent / "locale"


class Texts:
    """The messages of one topic in every language. Reads the files when it is created."""

    def __init__(self, topic: str) -> None:
        self._bundles: dict[str, FluentBundle] = {}
        for language in LANGUAGES:
            bundle = FluentBundle([language], use_isolating=False)
            source = (LOCALE_DIR / language / f"{topic}.ftl").read_text(encoding="utf-8")
            bundle.add_resource(FluentResource(source))
            self._bundles[language] = bundle

    def has(self, key: str, language: str) -> bool:
        """Return whether there is a message `key` in `language`."""
        return self._bundles[language].has_message(key)

    def translator(self, language: str) -> Translate:
        """Return `format` for one language, with the variables as keyword arguments."""

        def translate(key: str, **variables: str | int) -> str:
            return self.format(key, language, variables)

        return translate

    def format(
        self, key: str, language: str, arguments: Mapping[str, str | int] | None = None
    ) -> str:
        """Return the message `key` in `language`, with its variables replaced.

        A variable without an argument stays as `{$name}`. Raises KeyError for a missing message.
        """
        bundle = self._bundles[language]
        if not bundle.has_message(key):
            raise KeyError(f"no text {key!r} in {language}")
        pattern = bundle.get_message(key).value
        if pattern is None:
            raise KeyError(f"the text {key!r} in {language} is empty")
        text, _ = bundle.format_pattern(pattern, dict(arguments or {}))
        return str(text)


@lru_cache(maxsize=256)
def negotiate(accept_language: str) -> str:
    """Return the best of LANGUAGES for a value of `accept-language` (RFC 9110, 12.5.4).

    The highest quality wins, then the first in the value. Reads only the first 16 ranges.

    >>> negotiate("el-CY, ru;q=0.8, en;q=0.9")
    'el'
    >>> negotiate("fr, *;q=0.5")
    'en'
    """
    best, best_quality = LANGUAGES[0], 0.0
    for item in accept_language.split(",", 16)[:16]:
        tag, _, parameters = item.strip().partition(";")
        language = tag.strip().partition("-")[0].lower()
        language = LANGUAGES[0] if language == "*" else language
        quality = _quality(parameters)
        if language in LANGUAGES and quality > best_quality:
            best, best_quality = language, quality
    return best


def _quality(parameters: str) -> float:
    """Return the `q` of a language range: 1 if it has no `q`, 0 if its `q` is not valid."""
    name, _, value = parameters.strip().partition("=")
    if not name:
        return 1.0
    try:
        quality = float(value)
    except ValueError:
        return 0.0
    return quality if name.strip().lower() == "q" and 0.0 <= quality <= 1.0 else 0.0
