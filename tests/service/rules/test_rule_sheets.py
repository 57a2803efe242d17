"""The rule sheet of every table has exactly the rules of docs/rules.md for that table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from domain.match.presets import PRESETS
from domain.match.refusal import Refusal
from durak.v1.errors_pb2 import ErrorReason
from durak.v1.rules_service_pb2 import RuleSheet
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from service.rules.rule_lines import shares_by_place
from service.rules.rule_sheets import RuleSheets
from service.text.localisation import LANGUAGES, Texts

SHEETS = RuleSheets(idle_limit_seconds=86_400, remembered=8)
FLAGS = ("transfer", "draw_allowed", "five_card_opening", "tricky")
SECTIONS = (
    *("goal", "setup", "flow", "moves", "scoring", "end"),
    *("special", "locked", "time", "tricky", "bots"),
)


def settings(**wanted: Any) -> Settings:
    plain: dict[str, Any] = {
        "deck": Deck.DECK_36,
        "seats": 2,
        "throw_in": ThrowIn.THROW_IN_ALL,
        "draw_allowed": True,
    }
    return Settings(**(plain | wanted))


def sheet(wanted: Settings, language: str = "en") -> RuleSheet:
    made = SHEETS.sheet(wanted, language)
    assert isinstance(made, RuleSheet), made
    return made


def text(wanted: Settings, language: str = "en", section: str = "") -> str:
    return "\n".join(
        line.text
        for part in sheet(wanted, language).sections
        if section in ("", part.id)
        for line in part.lines
    )


def every_table() -> Iterator[Settings]:
    """Yield every combination of settings, with a few timers and stakes."""
    for deck, seats, throw_in in product((24, 36, 52), range(2, 7), (1, 2)):
        if seats * 6 > deck:
            continue
        for flags in product((False, True), repeat=len(FLAGS)):
            for timer, stake in ((0, 0), (86_399, 1_000_000_000)):
                yield Settings(
                    deck=Deck.ValueType(deck),
                    seats=seats,
                    throw_in=ThrowIn.ValueType(throw_in),
                    turn_timer_seconds=timer,
                    stake_coins=stake,
                    **dict[str, Any](zip(FLAGS, flags, strict=True)),
                )


# --- complete ---------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_table_has_a_complete_sheet(language: str) -> None:
    count = 0
    for table in every_table():
        made = sheet(table, language)
        wanted = [s for s in SECTIONS if table.tricky or s != "tricky"]
        assert [section.id for section in made.sections] == wanted
        lines = [line for section in made.sections for line in section.lines]
        words = [made.title, made.variant, *(section.title for section in made.sections)]
        for words_of in [*words, *(line.text for line in lines)]:
            assert words_of == words_of.strip() != ""
            assert not re.search(r"[{}$]| {2}|\n", words_of), words_of
        assert all(line.clauses for line in lines)
        assert made.language == language
        count += 1
    # (24: 3 tables by seats, 36: 5, 52: 5) x 2 circles x 16 flags x 2 timers and stakes
    assert count == 13 * 2 * 16 * 2


def test_every_text_of_the_sheets_is_on_some_sheet() -> None:
    used: set[str] = set()

    class Noting(Texts):
        def format(self, key: str, language: str, arguments: Any = None) -> str:
            used.add(key)
            return super().format(key, language, arguments)

    sheets = RuleSheets(idle_limit_seconds=86_400 + 3600 + 60 + 1, remembered=1)
    sheets._texts = noting = Noting("rules")  # noqa: SLF001 - to record the keys
    for table in every_table():
        sheets.sheet(table, "en")
    sheets.sheet(settings(series_id="8c5e3b1e-6f0a-4c53-9d0f-000000000001"), "en")
    sheets.sheet(Settings(preset="duraka-net"), "en")
    sheets.presets("en")
    everything = set(noting._bundles["en"]._messages)  # noqa: SLF001 - all keys
    assert everything - used == set()


def test_every_named_clause_exists() -> None:
    clauses = {
        clause
        for table in every_table()
        for section in sheet(table).sections
        for line in section.lines
        for clause in line.clauses
    }
    assert {
        clause for clause in clauses if not re.fullmatch(r"R([1-9]|1[0-4])(\.\d)?", clause)
    } == (set())
    for numbers in ("R1.3", "R4.3", "R5.2", "R6.2", "R8.2", "R9.4", "R9.5", "R11.4", "R12.3"):
        assert numbers in clauses


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_line_is_equal_in_two_languages(language: str) -> None:
    own = set(text(settings(tricky=True), language).splitlines())
    for other in set(LANGUAGES) - {language}:
        assert own.isdisjoint(text(settings(tricky=True), other).splitlines())


# --- true -------------------------------------------------------------------------------------


def test_R1_2_the_deck_and_its_lowest_card() -> None:
    assert "even the trump nine beats an ace" in text(settings(deck=24))
    assert "even the trump six beats an ace" in text(settings(deck=36))
    assert "even the trump two beats an ace" in text(settings(deck=52))
    assert "козырная шестёрка бьёт туза" in text(settings(deck=36), "ru")
    assert "Decks of 36 and 52 cards." in text(settings(deck=24), section="locked")


@pytest.mark.parametrize(
    ("deck", "seats", "stock"),
    [(36, 2, 24), (36, 5, 6), (24, 3, 6), (52, 6, 16)],
)
def test_R3_2_the_stock_after_the_deal(deck: Any, seats: int, stock: int) -> None:
    said = text(settings(deck=deck, seats=seats), section="setup")
    assert f"The stock then has {stock} cards" in said


@pytest.mark.parametrize(("deck", "seats"), [(36, 6), (24, 4)])
def test_R3_3_the_deal_uses_up_the_deck(deck: Any, seats: int) -> None:
    said = text(settings(deck=deck, seats=seats))
    assert "The last card dealt is shown to all" in said
    assert "nobody draws after a bout" in said
    assert "The stock then has" not in said
    assert "stock is used up" not in said


@pytest.mark.parametrize(
    ("deck", "seats", "is_possible"),
    # trumps of the deck against the cards left in the stock: 6 of 12, 6 of 6, 6 of 0, 9 of 24,
    # 9 of 12, 9 of 6, 9 of 0, 13 of 16
    [
        (24, 2, True),
        (24, 3, True),
        (24, 4, False),
        (36, 2, True),
        (36, 4, True),
        (36, 5, False),
        (36, 6, False),
        (52, 6, True),
    ],
)
def test_R3_4_the_lot_is_mentioned_only_if_all_hands_can_lack_trumps(
    deck: Any, seats: int, is_possible: bool
) -> None:
    said = text(settings(deck=deck, seats=seats), section="setup")
    assert ("drawn by lot" in said) is is_possible


def test_R4_3_the_cap() -> None:
    six = text(settings(), section="flow")
    assert "at most six attack cards" in six
    assert "five" not in six
    five = text(settings(five_card_opening=True), section="flow")
    assert "at most five attack cards; from the next bout on, six" in five
    assert "не больше пяти карт атаки" in text(settings(five_card_opening=True), "ru", "flow")


def test_R5_2_the_circle() -> None:
    assert "either side of the defender" in text(settings(seats=4, throw_in=1), section="flow")
    assert "Everybody still playing" in text(settings(seats=4, throw_in=2), section="flow")
    assert "The attacker can throw in" in text(settings(throw_in=1), section="flow")
    assert "do not sit next to" in text(settings(seats=4, throw_in=1), section="locked")
    # With three seats both others are neighbours of the defender.
    assert "do not sit next to" not in text(settings(seats=3, throw_in=1), section="locked")


def test_R6_transfers() -> None:
    plain = text(settings())
    assert plain.count("ransfer") == 1  # in the list of features that are off
    passed_on = text(settings(transfer=True, seats=3), section="moves")
    assert "can transfer further" in passed_on
    assert "beyond six attack cards." in passed_on
    opening = text(settings(transfer=True, five_card_opening=True), section="moves")
    assert "five until the first successful defence" in opening
    assert "transfer it back" in opening


def test_R9_4_draws() -> None:
    assert "the match is a draw." in text(settings(), section="end")
    assert "There is no draw on cards" in text(settings(draw_allowed=False), section="end")
    assert "A draw when" in text(settings(draw_allowed=False), section="locked")
    assert "A draw when" not in text(settings(), section="locked")


def test_R10_the_clock() -> None:
    without = text(settings(), section="time")
    assert "more than 1 day" in without
    assert "When time runs out" not in without
    with_timer = text(settings(turn_timer_seconds=90), section="time")
    assert "a limit of 1 minute 30 seconds." in with_timer
    assert "three times in a row" in with_timer
    assert "no turn timer" not in with_timer
    assert "Время на каждое решение — 21 секунда." in text(
        settings(turn_timer_seconds=21), "ru", "time"
    )


def test_R11_tricky_tables() -> None:
    assert "transfer" not in text(settings(tricky=True), section="tricky")
    with_transfer = text(settings(tricky=True, transfer=True), section="tricky")
    assert "or transfer with the wrong rank" in with_transfer
    assert "first successful defence" not in with_transfer
    opening = text(settings(tricky=True, five_card_opening=True), section="tricky")
    assert "is not the first successful defence" in opening
    # R11.5 comes before R7.3
    assert "closes by itself" not in text(settings(tricky=True))
    assert "closes by itself" in text(settings())


@pytest.mark.parametrize(
    ("stake", "seats", "shares"),
    # R12.3: bank × weight ÷ sum of weights, rounded down, the remainder to the first place.
    [
        (10, 2, (20,)),
        (10, 3, (20, 10)),  # 30 by 2 : 1
        (10, 4, (21, 13, 6)),  # 40 by 3 : 2 : 1 = 20, 13, 6 and one over
        (7, 5, (15, 10, 7, 3)),  # 35 by 4 : 3 : 2 : 1 = 14, 10.5, 7, 3.5: 14, 10, 7, 3, one over
        (100, 6, (200, 160, 120, 80, 40)),  # 600 by 5 : 4 : 3 : 2 : 1
    ],
)
def test_R12_3_shares(stake: int, seats: int, shares: tuple[int, ...]) -> None:
    assert shares_by_place(stake, seats) == shares


def test_R12_3_shares_in_words() -> None:
    said = text(settings(seats=4, stake_coins=10), section="scoring")
    assert "Each player puts in 10 coins" in said
    assert "the bank holds 40" in said
    assert "21 coins for place 1, 13 coins for place 2, 6 coins for place 3." in said
    russian = text(settings(seats=4, stake_coins=10), "ru", "scoring")
    assert "1-е место — 21 монета, 2-е место — 13 монет, 3-е место — 6 монет." in russian
    duel = text(settings(stake_coins=10), section="scoring")
    assert "The winner takes the whole bank" in duel
    assert "place 2" not in duel


def test_R12_7_bots() -> None:
    assert text(settings(stake_coins=1), section="bots") == (
        "Bots do not sit at tables with a stake."
    )
    assert "Hard: remembers" in text(settings(), section="bots")
    assert "never cheat" in text(settings(tricky=True), section="bots")


def test_R13_1_a_series() -> None:
    series = "8c5e3b1e-6f0a-4c53-9d0f-000000000001"
    assert "This match is part of a series" in text(settings(series_id=series))
    assert "If the match is part of a series" in text(settings())
    assert sheet(settings(series_id=series)).settings.series_id == series


@pytest.mark.parametrize("preset", PRESETS)
def test_R2_2_presets_are_filled_in(preset: str) -> None:
    asked = Settings(preset=preset)
    if "deck" not in PRESETS[preset]:
        asked.deck = Deck.DECK_52
    if "seats" not in PRESETS[preset]:
        asked.seats = 4
    if "throw_in" not in PRESETS[preset]:
        asked.throw_in = ThrowIn.THROW_IN_NEIGHBOURS
    made = sheet(asked)
    for name, value in PRESETS[preset].items():
        assert getattr(made.settings, name) == value
    titles = {known.name: known.title for known in SHEETS.presets("en")}
    assert f"the preset “{titles[preset]}”" in text(asked, section="locked")


def test_presets_list_their_locked_and_free_settings() -> None:
    for preset in SHEETS.presets("ru"):
        assert set(preset.locked) == set(PRESETS[preset.name])
        assert not set(preset.locked) & set(preset.free)
        assert {*preset.locked, *preset.free, "preset", "series_id"} == set(
            Settings.DESCRIPTOR.fields_by_name
        )
        for name, value in PRESETS[preset.name].items():
            assert getattr(preset.settings, name) == value


def test_the_variant_names_the_table() -> None:
    table = settings(deck=52, seats=5, throw_in=1, transfer=True, stake_coins=1)
    assert sheet(table).variant == (
        "52 cards · 5 players · perevodnoy (with transfers) · neighbours throw in · "
        "draws allowed · stake of 1 coin · rules version 1.1.0"
    )
    assert sheet(settings(), "ru").variant == (
        "36 карт · 2 игрока · подкидной · ничья возможна · версия правил 1.1.0"
    )


# --- refused, remembered ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (settings(deck=24, seats=5), "NOT_DEALABLE"),
        (settings(deck=0), "MALFORMED_FIELD"),
        (settings(seats=1), "MALFORMED_FIELD"),
        (settings(preset="unheard-of"), "UNKNOWN_PRESET"),
        (settings(preset="duraka-net", seats=3), "PRESET_LOCKED"),
    ],
)
def test_impossible_settings_are_refused(asked: Settings, reason: str) -> None:
    refusal = SHEETS.sheet(asked, "en")
    assert isinstance(refusal, Refusal)
    assert ErrorReason.Name(refusal.reason) == f"ERROR_REASON_{reason}"


def test_the_cache_of_sheets_is_bounded() -> None:
    sheets = RuleSheets(idle_limit_seconds=86_400, remembered=3)
    for stake in range(10):
        sheets.sheet(settings(stake_coins=stake), "en")
    assert sheets.sheet(settings(stake_coins=9), "en") is sheets.sheet(
        settings(stake_coins=9), "en"
    )
    assert sheets._sheet.cache_info().currsize == 3  # noqa: SLF001 - the bound
