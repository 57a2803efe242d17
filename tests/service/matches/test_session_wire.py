"""The hand-made wire format of sessions is what protobuf writes and reads."""

from __future__ import annotations

import pytest
from google.rpc.status_pb2 import Status
from hypothesis import given
from hypothesis import strategies as st

from durak.v1.match_service_pb2 import (
    Heartbeat,
    PlaySessionResponse,
    WatchEnded,
    WatchMatchResponse,
)
from durak.v1.table_pb2 import TableView
from service.matches.session_wire import (
    error_answer,
    joined_answers,
    view_answer,
    watch_ended,
    watch_message,
    watch_prefix,
)

ID = "8c5e3b1e-6f0a-4c53-9d0f-000000000001"
LENGTHS = (0, 1, 126, 127, 128, 129, 16_383, 16_384, 16_385, 70_000)
"""Lengths around those at which a varint grows by one byte."""

request_ids = st.text(max_size=300)


def view_of_length(length: int) -> TableView:
    """A view with about this serialized length."""
    return TableView(owner_id="x" * length, version=length)


@pytest.mark.parametrize("length", LENGTHS)
def test_an_answer_with_a_view_equals_the_output_of_protobuf(length: int) -> None:
    view = view_of_length(length)
    written = view_answer(ID, view.SerializeToString())
    assert written == PlaySessionResponse(request_id=ID, view=view).SerializeToString()


@pytest.mark.parametrize("length", LENGTHS)
def test_a_message_of_a_watch_equals_the_output_of_protobuf(length: int) -> None:
    message = WatchMatchResponse(view=view_of_length(length))
    written = watch_message(watch_prefix(ID), message.SerializeToString())
    assert written == PlaySessionResponse(request_id=ID, watch=message).SerializeToString()


@pytest.mark.parametrize("length", LENGTHS)
def test_joined_answers_equal_the_output_of_protobuf(length: int) -> None:
    answers = [
        PlaySessionResponse(request_id=ID, view=view_of_length(length)),
        PlaySessionResponse(request_id=ID, version=length),
        PlaySessionResponse(request_id=ID, watch_ended=WatchEnded(version=7)),
    ]
    for count in (1, 2, 3):
        first, *others = answers[:count]
        written = joined_answers([answer.SerializeToString() for answer in answers[:count]])
        whole = PlaySessionResponse(request_id=ID, view=first.view, more=others)
        assert written == whole.SerializeToString()


@given(request_id=request_ids)
def test_any_request_id_is_returned(request_id: str) -> None:
    heartbeat = WatchMatchResponse(heartbeat=Heartbeat(version=7))
    answers = [
        view_answer(request_id, TableView(version=7).SerializeToString()),
        watch_message(watch_prefix(request_id), heartbeat.SerializeToString()),
        watch_ended(request_id, 7),
        error_answer(request_id, Status(code=5)),
    ]
    read = [PlaySessionResponse.FromString(answer) for answer in answers]
    assert {response.request_id for response in read} == {request_id}
    assert [response.WhichOneof("kind") for response in read] == [
        "view",
        "watch",
        "watch_ended",
        "error",
    ]


def test_the_end_of_a_watch_and_an_error_have_their_values() -> None:
    assert PlaySessionResponse.FromString(watch_ended(ID, 12)).watch_ended == WatchEnded(version=12)
    status = Status(code=9, message="no")
    assert PlaySessionResponse.FromString(error_answer(ID, status)).error == status
