"""The fold vectors in docs/vectors: current, complete, and without secrets of other viewers."""

import json
from typing import Any

import pytest

from durak.v1.events_pb2 import Event
from tests.domain.match.vectors import FOLDER, VIEWERS, files

KINDS = {field.json_name for field in Event.DESCRIPTOR.fields}


def steps(label: str) -> list[list[dict[str, Any]]]:
    return [json.loads(it.read_text("utf-8"))["steps"] for it in FOLDER.glob(f"*-{label}.json")]


def test_the_vectors_are_current() -> None:
    made = dict(files())
    kept = {file.name: file.read_text("utf-8") for file in FOLDER.iterdir()}
    assert kept == made, "run: python -m tests.domain.match.vectors"


@pytest.mark.parametrize("label", [label for label, _ in VIEWERS])
def test_the_vectors_have_a_view_after_every_kind_of_event(label: str) -> None:
    shown = {
        kind
        for match in steps(label)
        for step in match
        if "view" in step
        for kind in step["event"]["event"]
    }
    assert shown == KINDS


def test_a_spectator_sees_no_hand() -> None:
    for match in steps("spectator"):
        dealt = next(
            it["event"]["event"]["dealt"] for it in match if "dealt" in it["event"]["event"]
        )
        seen = {card for hand in dealt["hands"] for card in hand["cards"]}
        assert seen <= {"CARD_UNSPECIFIED", dealt["trumpCard"]}
        assert not any("hand" in step.get("view", {}) for step in match)


@pytest.mark.parametrize("label", [label for label, _ in VIEWERS])
def test_the_server_seed_is_revealed_only_at_the_end(label: str) -> None:
    for match in steps(label):
        assert [
            "serverSeed" in json.dumps(step["event"]).replace("serverSeedHash", "")
            for step in match
        ] == [*[False] * (len(match) - 1), True]
