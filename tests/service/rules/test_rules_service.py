"""RulesService over a real channel, without a token."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from grpc import StatusCode, aio

from domain.match.presets import PRESETS
from durak.v1 import rules_service_pb2 as api
from durak.v1.settings_pb2 import Settings
from tests.service.without_token import public_services, refused, rules, speaking

DUEL = Settings(deck=36, seats=2, draw_allowed=True)  # type: ignore[arg-type]


@pytest.fixture
async def channel(tmp_path: Path) -> AsyncIterator[aio.Channel]:
    async with public_services(tmp_path) as channel:
        yield channel


@pytest.mark.parametrize(
    ("asked", "accepted", "language", "title"),
    [
        ("", "", "en", "Durak"),
        ("", "ru", "ru", "Дурак"),
        ("", "el-GR, en;q=0.5", "el", "Ντουράκ"),
        ("", "fr", "en", "Durak"),
        ("el", "ru", "el", "Ντουράκ"),
    ],
)
async def test_the_language_of_a_sheet(
    channel: aio.Channel, asked: str, accepted: str, language: str, title: str
) -> None:
    request = api.GetRuleSheetRequest(settings=DUEL, language=asked)
    answer = await rules(channel).GetRuleSheet(request, metadata=speaking(accepted))
    assert (answer.sheet.language, answer.sheet.title) == (language, title)
    assert answer.sheet.settings.throw_in  # filled in


async def test_a_sheet_of_a_match_in_a_series(channel: aio.Channel) -> None:
    series = Settings(series_id="8c5e3b1e-6f0a-4c53-9d0f-000000000001")
    series.MergeFrom(DUEL)
    answer = await rules(channel).GetRuleSheet(api.GetRuleSheetRequest(settings=series))
    assert answer.sheet.settings.series_id == series.series_id


async def test_presets(channel: aio.Channel) -> None:
    answer = await rules(channel).ListPresets(api.ListPresetsRequest(), metadata=speaking("ru"))
    assert [preset.name for preset in answer.presets] == list(PRESETS)
    assert answer.language == "ru"
    peak = next(preset for preset in answer.presets if preset.name == "durak-peak")
    assert peak.title == "Сначала пять карт"
    assert list(peak.locked) == ["five_card_opening"]
    assert "stake_coins" in peak.free


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (api.GetRuleSheetRequest(), "MALFORMED_FIELD"),
        (api.GetRuleSheetRequest(settings=DUEL, language="tlh"), "MALFORMED_FIELD"),
        (api.GetRuleSheetRequest(settings=Settings(deck=24, seats=6, throw_in=2)), "NOT_DEALABLE"),  # type: ignore[arg-type]
        (api.GetRuleSheetRequest(settings=Settings(preset="x" * 65)), "MALFORMED_FIELD"),
        (api.GetRuleSheetRequest(settings=Settings(preset="x")), "UNKNOWN_PRESET"),
        (
            api.GetRuleSheetRequest(settings=Settings(preset="duraka-net", seats=4)),
            "PRESET_LOCKED",
        ),
        (api.GetRuleSheetRequest(settings=Settings(series_id="one")), "MALFORMED_FIELD"),
    ],
)
async def test_refusals(
    channel: aio.Channel, request_: api.GetRuleSheetRequest, reason: str
) -> None:
    with pytest.raises(aio.AioRpcError) as caught:
        await rules(channel).GetRuleSheet(request_)
    assert refused(caught.value) == (StatusCode.INVALID_ARGUMENT, reason)


async def test_the_rate_limit_of_an_address_covers_all_its_connections(tmp_path: Path) -> None:
    limits = {"public_calls_per_second": 0.001, "public_calls_burst": 3}
    async with public_services(tmp_path, **limits) as channel:
        for _ in range(3):
            await rules(channel).ListPresets(api.ListPresetsRequest())
        with pytest.raises(aio.AioRpcError) as caught:
            await rules(channel).ListPresets(api.ListPresetsRequest())
        assert refused(caught.value) == (StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
