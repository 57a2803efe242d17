"""R1 Cards, R2 Table settings."""

from typing import Any

import pytest

from domain.cards import BEATERS, BIT_OF, CARD_BY_NAME, deck_cards
from domain.match.refusal import Refusal
from domain.match.seating import complete_settings
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from tests.domain.tables import names, opened, refused, settings

ALL = ThrowIn.THROW_IN_ALL


def test_R1_1_numbers_follow_suit_and_rank() -> None:
    assert [CARD_BY_NAME[card] for card in ("2♣", "A♣", "2♦", "2♥", "2♠", "A♠")] == [
        1,
        13,
        14,
        27,
        40,
        52,
    ]


def test_R1_2_decks() -> None:
    assert names(deck_cards(24)[:6]) == "9♣ 10♣ J♣ Q♣ K♣ A♣"
    assert names(deck_cards(36)[:9]) == "6♣ 7♣ 8♣ 9♣ 10♣ J♣ Q♣ K♣ A♣"
    assert names(deck_cards(52)[:13]) == "2♣ 3♣ 4♣ 5♣ 6♣ 7♣ 8♣ 9♣ 10♣ J♣ Q♣ K♣ A♣"
    assert [len(deck_cards(size)) for size in (24, 36, 52)] == [24, 36, 52]


@pytest.mark.parametrize(
    ("card", "beater", "beats"),
    [
        ("6♥", "7♥", True),
        ("7♥", "6♥", False),
        ("7♥", "7♥", False),
        ("6♥", "7♦", False),  # another suit, no trump
        ("A♥", "2♠", True),  # any trump
        ("2♠", "A♥", False),
        ("9♠", "10♠", True),
        ("10♠", "9♠", False),
        ("K♥", "A♥", True),  # the ace is high
        ("A♥", "2♥", False),
    ],
)
def test_R1_3_a_card_beats_another_with_spades_as_trumps(
    card: str, beater: str, beats: bool
) -> None:
    spades = 3
    assert bool(BEATERS[spades][CARD_BY_NAME[card]] & BIT_OF[CARD_BY_NAME[beater]]) == beats


@pytest.mark.parametrize("deck", [24, 36, 52])
@pytest.mark.parametrize("seats", [2, 3, 4, 5, 6])
def test_R2_1_six_cards_for_each_seat_must_exist(deck: int, seats: int) -> None:
    outcome = complete_settings(settings(deck=deck, seats=seats))
    if deck == 24 and seats > 4:
        assert isinstance(outcome, Refusal)
        assert refused(outcome) == "NOT_DEALABLE R2.1"
        assert [fault.path for fault in outcome.fields] == ["settings.seats"]
    else:
        assert outcome == settings(deck=deck, seats=seats)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("deck", 0),
        ("deck", 32),
        ("seats", 0),
        ("seats", 1),
        ("seats", 7),
        ("throw_in", 3),
        ("turn_timer_seconds", 86_401),
        ("stake_coins", 1_000_000_001),
        ("series_id", "8c5e3b1e-6f0a-4c53-9d0f-000000000001"),
    ],
)
def test_R2_settings_out_of_range_are_refused_with_their_field(field: str, value: Any) -> None:
    outcome = complete_settings(settings(**{field: value}))
    assert isinstance(outcome, Refusal)
    assert refused(outcome) == "MALFORMED_FIELD R2"
    assert [fault.path for fault in outcome.fields] == [f"settings.{field}"]


def test_R2_the_throw_in_circle_is_required_for_three_or_more_seats() -> None:
    assert isinstance(complete_settings(settings(seats=3, throw_in=0)), Refusal)
    assert complete_settings(settings(seats=2, throw_in=0)) == settings(seats=2)


@pytest.mark.parametrize(
    ("asked", "full"),
    [
        (
            Settings(preset="duraka-net"),
            settings(preset="duraka-net"),
        ),
        (
            Settings(preset="duraka-net-transfer", stake_coins=5),
            settings(preset="duraka-net-transfer", transfer=True, stake_coins=5),
        ),
        (
            Settings(
                preset="durak-peak",
                deck=Deck.DECK_52,
                seats=4,
                throw_in=ThrowIn.THROW_IN_NEIGHBOURS,
                draw_allowed=True,
                tricky=True,
            ),
            settings(
                preset="durak-peak",
                deck=52,
                seats=4,
                throw_in=1,
                tricky=True,
                five_card_opening=True,
            ),
        ),
        (
            Settings(preset="classic-1.0.0", seats=6),
            settings(preset="classic-1.0.0", seats=6),
        ),
        (
            Settings(preset="classic-1.0.0", seats=2, turn_timer_seconds=30),
            settings(preset="classic-1.0.0", turn_timer_seconds=30),
        ),
    ],
)
def test_R2_2_presets_fill_in_the_settings_that_they_lock(asked: Settings, full: Settings) -> None:
    assert complete_settings(asked) == full
    assert opened(asked).match.table.settings == full


@pytest.mark.parametrize(
    ("preset", "field", "value"),
    [
        ("duraka-net", "deck", 52),
        ("duraka-net", "seats", 3),
        ("duraka-net", "transfer", True),
        ("duraka-net-transfer", "deck", 24),
        ("duraka-net-transfer", "transfer", False),
        ("durak-peak", "five_card_opening", False),
        ("classic-1.0.0", "throw_in", ThrowIn.THROW_IN_NEIGHBOURS),
        ("classic-1.0.0", "five_card_opening", True),
        ("classic-1.0.0", "transfer", True),
        ("classic-1.0.0", "tricky", True),
        ("classic-1.0.0", "stake_coins", 1),
        ("classic-1.0.0", "deck", 24),
    ],
)
def test_R2_2_presets_stay_locked(preset: str, field: str, value: Any) -> None:
    asked: dict[str, Any] = {"preset": preset, field: value}
    if preset == "classic-1.0.0":
        asked |= {"seats": 4}
    outcome = complete_settings(Settings(**asked))
    assert isinstance(outcome, Refusal)
    assert refused(outcome) == "PRESET_LOCKED R2.2"
    assert [fault.path for fault in outcome.fields] == [f"settings.{field}"]


def test_R2_unknown_fields_of_settings_are_dropped() -> None:
    strange = b"\xa2\x06\x03abc"  # field 100, which a client of another version may send
    asked = Settings.FromString(settings().SerializeToString() + strange)
    kept = opened(asked).match.table.settings
    assert kept.SerializeToString() == settings().SerializeToString()


def test_R2_2_an_unknown_preset_is_refused() -> None:
    outcome = complete_settings(settings(preset="duraka-nett"))
    assert isinstance(outcome, Refusal)
    assert refused(outcome) == "UNKNOWN_PRESET R2.2"


def test_R2_2_classic_does_not_lock_the_number_of_seats() -> None:
    assert isinstance(complete_settings(Settings(preset="classic-1.0.0")), Refusal)
