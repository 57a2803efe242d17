"""The named presets of table settings (R2.2)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from durak.v1.settings_pb2 import Deck, ThrowIn

PRESETS: Final[Mapping[str, Mapping[str, int]]] = MappingProxyType(
    {
        "duraka-net": {
            "deck": Deck.DECK_36,
            "seats": 2,
            "throw_in": ThrowIn.THROW_IN_ALL,
            "transfer": False,
            "draw_allowed": True,
            "five_card_opening": False,
            "tricky": False,
        },
        "duraka-net-transfer": {
            "deck": Deck.DECK_36,
            "seats": 2,
            "throw_in": ThrowIn.THROW_IN_ALL,
            "transfer": True,
            "draw_allowed": True,
            "five_card_opening": False,
            "tricky": False,
        },
        "durak-peak": {"five_card_opening": True},
        "classic-1.0.0": {
            "deck": Deck.DECK_36,
            "throw_in": ThrowIn.THROW_IN_ALL,
            "transfer": False,
            "draw_allowed": True,
            "five_card_opening": False,
            "tricky": False,
            "stake_coins": 0,
        },
    }
)
"""By preset name: the fields of Settings that the preset locks, with their values."""
