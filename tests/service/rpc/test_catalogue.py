"""The catalogue matches errors.proto: code, details, and a text in every language."""

from __future__ import annotations

import re
from pathlib import Path

import grpc
import pytest
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from google.rpc.status_pb2 import Status

import durak.v1
from domain.match.refusal import FieldFault, Refusal
from durak.v1 import errors_pb2 as reasons
from durak.v1.errors_pb2 import ErrorReason
from service.rpc.catalogue import CATALOGUE, reason_name, text_key
from service.rpc.status import status_of, texts
from service.text.localisation import LANGUAGES, LOCALE_DIR

PROTO = Path(durak.v1.__path__[0]) / "errors.proto"
SENT = [value for value in ErrorReason.values() if value]
DETAILS = {
    "BadRequest": error_details_pb2.BadRequest,
    "PreconditionFailure": error_details_pb2.PreconditionFailure,
    "ResourceInfo": error_details_pb2.ResourceInfo,
    "RetryInfo": error_details_pb2.RetryInfo,
    "QuotaFailure": error_details_pb2.QuotaFailure,
}


def comments() -> dict[str, str]:
    """Return the comment of every value of ErrorReason, on one line."""
    found, comment = {}, ""
    body = PROTO.read_text().partition("enum ErrorReason {")[2]
    for line in body.splitlines():
        text = line.strip()
        if not text:
            comment = ""  # it was a heading
        elif text.startswith("//"):
            comment += " " + text.removeprefix("//").strip()
        elif match := re.match(r"(ERROR_REASON_\w+) = \d+;", text):
            found[match[1]], comment = comment.strip(), ""
    return found


def documented_details(name: str) -> set[str]:
    """Return the details that a comment names. FAILED_PRECONDITION implies its own detail."""
    comment = comments()[name]
    named = set(re.findall(r"\b(" + "|".join(DETAILS) + r")\b", comment))
    return named | ({"PreconditionFailure"} if "FAILED_PRECONDITION" in comment else set())


def details_of(status: Status) -> dict[str, Message]:
    unpacked: dict[str, Message] = {}
    kinds = {
        **DETAILS,
        "ErrorInfo": error_details_pb2.ErrorInfo,
        "LocalizedMessage": error_details_pb2.LocalizedMessage,
    }
    for packed in status.details:
        name = packed.TypeName().rpartition(".")[2]
        unpacked[name] = kinds[name]()
        assert packed.Unpack(unpacked[name])
    return unpacked


def test_the_comments_are_read_completely() -> None:
    assert list(comments()) == ErrorReason.keys()
    assert documented_details("ERROR_REASON_NOT_YOUR_TURN") == {"PreconditionFailure"}
    assert documented_details("ERROR_REASON_RATE_LIMITED") == {"QuotaFailure", "RetryInfo"}
    assert documented_details("ERROR_REASON_NOT_SEATED") == set()


def test_the_catalogue_has_every_reason_and_no_other() -> None:
    assert set(CATALOGUE) == set(SENT)


@pytest.mark.parametrize("reason", SENT, ids=reason_name)
def test_code_and_details_are_as_documented(reason: ErrorReason.ValueType) -> None:
    name = ErrorReason.Name(reason)
    code = re.search(r"([A-Z]+(?:_[A-Z]+)*)\.$", comments()[name])
    assert code is not None
    assert CATALOGUE[reason].code is grpc.StatusCode[code[1]]

    status = status_of(Refusal(reason, "R5.1", {"match_id": "m"}), "en")
    assert status.code == grpc.StatusCode[code[1]].value[0]
    details = details_of(status)
    assert set(details) == documented_details(name) | {"ErrorInfo", "LocalizedMessage"}
    info = details["ErrorInfo"]
    assert isinstance(info, error_details_pb2.ErrorInfo)
    assert (info.domain, info.reason) == ("durak.v1", name.removeprefix("ERROR_REASON_"))
    assert dict(info.metadata) == {"clause": "R5.1", "match_id": "m"}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("reason", SENT, ids=reason_name)
def test_every_reason_has_a_text_in_every_language(
    reason: ErrorReason.ValueType, language: str
) -> None:
    promised = re.findall(r"`(\w+)`", comments()[ErrorReason.Name(reason)])
    status = status_of(Refusal(reason, metadata=dict.fromkeys(promised, "12345")), language)
    message = details_of(status)["LocalizedMessage"]
    assert isinstance(message, error_details_pb2.LocalizedMessage)
    assert message.locale == language
    assert message.message.rstrip()[-1:] in {".", ";", "·"}
    assert "{" not in message.message  # every variable is metadata that the comment names
    letters = {"en": "a-z", "ru": "а-я", "el": "α-ω"}[language]
    assert re.search(f"[{letters}]", message.message)
    others = {"en": "а-яα-ω", "ru": "α-ω", "el": "а-я"}[language]
    assert not re.search(f"[{others}]", message.message)


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_no_texts_without_a_reason(language: str) -> None:
    source = (LOCALE_DIR / language / "errors.ftl").read_text(encoding="utf-8")
    keys = re.findall(r"^([a-z][a-z-]*) =", source, re.MULTILINE)
    assert sorted(keys) == sorted(text_key(reason) for reason in SENT)


def test_a_missing_text_is_an_error() -> None:
    with pytest.raises(KeyError):
        texts().format("no-such-text", "en")


def test_the_text_contains_the_metadata() -> None:
    refusal = Refusal(
        reasons.ERROR_REASON_INSUFFICIENT_COINS,
        metadata={"balance_coins": "40", "stake_coins": "100"},
    )
    for language in LANGUAGES:
        message = details_of(status_of(refusal, language))["LocalizedMessage"]
        assert "40" in str(message)
        assert "100" in str(message)


def test_faulty_fields_are_named_by_their_paths() -> None:
    faults = (
        FieldFault("settings.seats", "must be at most 6"),
        FieldFault("request_id", "is required"),
    )
    refusal = Refusal(reasons.ERROR_REASON_MALFORMED_FIELD, fields=faults)
    bad = details_of(status_of(refusal, "en"))["BadRequest"]
    assert isinstance(bad, error_details_pb2.BadRequest)
    assert [(violation.field, violation.description) for violation in bad.field_violations] == [
        ("settings.seats", "must be at most 6"),
        ("request_id", "is required"),
    ]


def test_a_refusal_can_bring_its_own_retry_delay() -> None:
    refusal = Refusal(reasons.ERROR_REASON_RATE_LIMITED)
    for seconds, microseconds in ((2.5, 2_500_000), (0.0, 1), (None, 1_000_000)):
        retry = details_of(status_of(refusal, "en", seconds))["RetryInfo"]
        assert isinstance(retry, error_details_pb2.RetryInfo)
        assert retry.retry_delay.ToMicroseconds() == microseconds
