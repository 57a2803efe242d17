"""Every text is there in every language, and asks for the same variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fluent.syntax import FluentParser, ast
from fluent.syntax.visitor import Visitor

from service.text.localisation import LANGUAGES, LOCALE_DIR, Texts, negotiate

TOPICS = sorted({path.stem for path in LOCALE_DIR.rglob("*.ftl")})
PLURALS = {"en": {"one", "other"}, "el": {"one", "other"}, "ru": {"one", "few", "many"}}


class Parts(Visitor):
    """The variables and the keys of the variants of one message."""

    def __init__(self) -> None:
        self.variables: set[str] = set()
        self.choices: list[set[str]] = []

    def visit_VariableReference(self, node: Any) -> None:
        self.variables.add(node.id.name)

    def visit_SelectExpression(self, node: Any) -> None:
        keys = [variant.key for variant in node.variants]
        self.choices.append({getattr(key, "name", None) or key.value for key in keys})
        self.generic_visit(node)


def messages(topic: str, language: str) -> dict[str, Parts]:
    source = (LOCALE_DIR / language / f"{topic}.ftl").read_text(encoding="utf-8")
    found = {}
    for entry in FluentParser().parse(source).body:
        assert not isinstance(entry, ast.Junk), f"{topic}.ftl in {language}: {entry.content}"
        if isinstance(entry, ast.Message):
            parts = Parts()
            parts.visit(entry)
            assert entry.id.name not in found, f"{entry.id.name} stands twice in {language}"
            found[entry.id.name] = parts
    return found


def every_choice() -> Iterator[tuple[str, str, set[str]]]:
    for topic in TOPICS:
        for language in LANGUAGES:
            for key, parts in messages(topic, language).items():
                yield from ((language, key, choice) for choice in parts.choices)


@pytest.mark.parametrize("topic", TOPICS)
def test_every_language_has_the_same_messages(topic: str) -> None:
    keys = {language: set(messages(topic, language)) for language in LANGUAGES}
    assert all(own == keys["en"] for own in keys.values())
    assert len(keys["en"]) > 0


@pytest.mark.parametrize("topic", TOPICS)
def test_every_language_asks_for_the_same_variables(topic: str) -> None:
    english = messages(topic, "en")
    for language in LANGUAGES:
        for key, parts in messages(topic, language).items():
            assert parts.variables == english[key].variables, f"{key} in {language}"


def test_numbers_have_all_the_plural_forms_of_the_language() -> None:
    plural = [
        (language, key, choice)
        for language, key, choice in every_choice()
        if choice & {"one", "few", "many"}
    ]
    assert len(plural) > 10
    assert [found for found in plural if not found[2] >= PLURALS[found[0]]] == []


@pytest.mark.parametrize(
    ("language", "count", "text"),
    [
        ("en", 1, "1 second"),
        ("en", 2, "2 seconds"),
        ("ru", 1, "1 секунда"),
        ("ru", 3, "3 секунды"),
        ("ru", 11, "11 секунд"),
        ("ru", 21, "21 секунда"),
        ("el", 1, "1 δευτερόλεπτο"),
        ("el", 5, "5 δευτερόλεπτα"),
    ],
)
def test_plural_forms(language: str, count: int, text: str) -> None:
    assert Texts("rules").format("duration-seconds", language, {"count": count}) == text


def test_a_text_that_is_missing_is_an_error() -> None:
    with pytest.raises(KeyError, match="nothing-like-this"):
        Texts("rules").format("nothing-like-this", "ru")


@pytest.mark.parametrize(
    ("wanted", "language"),
    [
        ("", "en"),
        ("ru", "ru"),
        ("el-GR", "el"),
        ("RU-ru", "ru"),
        ("EL", "el"),
        ("de", "en"),
        ("fr, ru;q=0.5", "ru"),
        ("ru;q=0.5, el;q=0.9", "el"),
        ("de, el;q=0.4, ru;q=0.5", "ru"),
        ("ru;q=0.1, el;q=0.1", "ru"),
        ("ru;q=0", "en"),
        ("ru;q=0, el;q=0.001", "el"),
        ("ru;q=nonsense", "en"),
        ("ru;q=2, el;q=nan, en;q=x", "en"),
        ("*", "en"),
        ("fr, *;q=0.5", "en"),
        ("*;q=0.5, el;q=0.9", "el"),
        ("el ; q=0.8 , ru ;q=0.9", "ru"),
        (";;;,,,=", "en"),
        ("de," * 10_000 + "ru", "en"),
    ],
)
def test_the_caller_gets_the_best_language_that_there_is(wanted: str, language: str) -> None:
    assert negotiate(wanted) == language
