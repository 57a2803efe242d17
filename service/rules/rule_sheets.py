"""Rule sheets: the rules of exactly one table as text."""

from collections.abc import Iterable
from functools import lru_cache

from domain.match.presets import PRESETS
from domain.match.refusal import Refusal
from domain.match.seating import RULES_VERSION, complete_settings
from durak.v1 import rules_service_pb2 as api
from durak.v1.settings_pb2 import Settings
from service.rules.rule_lines import (
    SECTIONS,
    Argument,
    Facts,
    Line,
    Seconds,
    Shares,
    Text,
    preset_key,
    variant,
)
from service.text.localisation import Texts

_UNITS = (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1))


class RuleSheets:
    """Creates the sheets and caches the most recent ones."""

    def __init__(self, *, idle_limit_seconds: int, remembered: int) -> None:
        """Read the texts. `remembered` is the size of the cache.

        `idle_limit_seconds` is the idle limit on the sheets (R10.8).
        """
        self._texts = Texts("rules")
        self._idle_limit_seconds = idle_limit_seconds
        self._sheet = lru_cache(maxsize=remembered)(self._make)

    def sheet(self, asked: Settings, language: str) -> api.RuleSheet | Refusal:
        """Return the sheet for these settings in one of LANGUAGES, or why they are invalid (R2).

        A series id only means that the match is part of a series (R13.1). The sheet is shared, so
        do not change it.
        """
        plain = Settings()
        plain.CopyFrom(asked)
        plain.DiscardUnknownFields()
        series_id = plain.series_id
        plain.ClearField("series_id")
        settings = complete_settings(plain)
        if isinstance(settings, Refusal):
            return settings
        settings.series_id = series_id
        return self._sheet(settings.SerializeToString(deterministic=True), language)

    def presets(self, language: str) -> list[api.Preset]:
        """Return the named presets (R2.2) in one of LANGUAGES."""
        names = [name for name in Settings.DESCRIPTOR.fields_by_name if name not in _SERVERS]
        return [
            api.Preset(
                name=name,
                title=self._texts.format(preset_key(name), language),
                description=self._texts.format(f"{preset_key(name)}-about", language),
                settings=Settings(preset=name, **locked),  # type: ignore[arg-type] # by name
                locked=[field for field in names if field in locked],
                free=[field for field in names if field not in locked],
            )
            for name, locked in PRESETS.items()
        ]

    def _make(self, settings_bytes: bytes, language: str) -> api.RuleSheet:
        settings = Settings.FromString(settings_bytes)
        facts = Facts(settings, self._idle_limit_seconds)
        sheet = api.RuleSheet(
            title=self._texts.format("title", language),
            variant=self._variant(facts, language),
            rules_version=RULES_VERSION,
            settings=settings,
            language=language,
        )
        for section in SECTIONS:
            lines = self._lines(section.lines(facts), language)
            if lines:
                title = self._texts.format(f"{section.id}-title", language)
                sheet.sections.add(id=section.id, title=title, ordered=section.ordered, lines=lines)
        return sheet

    def _variant(self, facts: Facts, language: str) -> str:
        version = Line("variant-version", ("R2",), {"version": RULES_VERSION})
        return " · ".join(self._text(line, language) for line in (*variant(facts), version))

    def _lines(self, lines: Iterable[Line], language: str) -> list[api.RuleLine]:
        return [
            api.RuleLine(text=self._text(line, language), clauses=line.clauses) for line in lines
        ]

    def _text(self, line: Line, language: str) -> str:
        arguments = {
            name: self._in_words(value, language) for name, value in line.arguments.items()
        }
        return self._texts.format(line.key, language, arguments)

    def _in_words(self, value: Argument, language: str) -> int | str:
        match value:
            case Text():
                return self._texts.format(value.key, language)
            case Seconds():
                return self._duration(value.count, language)
            case Shares():
                return ", ".join(  # no semicolon, which is the Greek question mark
                    self._texts.format("scoring-share", language, {"place": place, "coins": coins})
                    for place, coins in enumerate(value.coins, 1)
                )
            case _:
                return value

    def _duration(self, seconds: int, language: str) -> str:
        """Return a duration in words, such as `1 minute 30 seconds`."""
        words = []
        for unit, size in _UNITS:
            count, seconds = divmod(seconds, size)
            if count:
                words.append(self._texts.format(f"duration-{unit}", language, {"count": count}))
        return " ".join(words)


_SERVERS = frozenset({"series_id", "preset"})
"""Fields of Settings that are not a choice: the id from the server, and the name of the preset."""
