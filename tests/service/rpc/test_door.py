"""Calls that are refused before they cost anything: compressed, with two tokens, or revoked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from grpc import aio

from service.rpc.token_keys import KeySet
from tests.service.frame import framed, refusal
from tests.service.tokens import jwk, sign

INFLATED_BYTES = 60_000_000


async def test_T10_a_compressed_message_is_refused_and_not_inflated(tmp_path: Path) -> None:
    async with framed(tmp_path) as frame:
        for size in (10, INFLATED_BYTES):
            with pytest.raises(aio.AioRpcError) as refused:
                await frame.unary()(bytes(size), compression=grpc.Compression.Gzip)
            # A message that is too large once inflated would be RESOURCE_EXHAUSTED.
            assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert frame.methods.seen == []
        assert await frame.unary()("plain", metadata=frame.metadata()) == "plain"


@pytest.mark.parametrize("valid", [0, 1])
async def test_T08_two_tokens_are_refused_even_if_one_is_valid(tmp_path: Path, valid: int) -> None:
    async with framed(tmp_path) as frame:
        pairs = [("authorization", "Bearer x.y.z"), *frame.metadata()]
        metadata = pairs if valid else pairs[::-1]
        refused = await refusal(frame.unary()("hello", metadata=metadata))
        assert refused.reason == "TOKEN_INVALID"
        same = frame.metadata() * 2
        assert (await refusal(frame.unary()("hello", metadata=same))).reason == "TOKEN_INVALID"
        assert frame.methods.seen == []


async def test_T09_streams_of_a_key_that_left_the_key_set_end(tmp_path: Path) -> None:
    old, new = (ed25519.Ed25519PrivateKey.generate() for _ in range(2))
    entries = [jwk(old.public_key(), "old"), jwk(new.public_key(), "new")]
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": entries}))
    keys = KeySet(
        str(path), refresh_seconds=300, retry_seconds=300, timeout_seconds=5, stale_seconds=600
    )
    await keys.load()
    async with framed(tmp_path, keys=keys) as frame:
        keys.listeners.append(frame.interceptor.end_revoked)
        issuer, audience = frame.config.token_issuer, frame.config.token_audience
        watches = {}
        for key_id, key in (("old", old), ("new", new)):
            token = sign(key, "EdDSA", key_id, iss=issuer, aud=audience)
            metadata = (("authorization", f"Bearer {token}"),)
            watches[key_id] = frame.watch()("hello", metadata=metadata)
            assert await watches[key_id].read() == "hello"
        path.write_text(json.dumps({"keys": entries[1:]}))
        await keys.load()
        refused = await refusal(watches["old"].read())
        assert refused.code is grpc.StatusCode.UNAUTHENTICATED
        assert refused.reason == "TOKEN_INVALID"
        frame.methods.go.set()
        assert await watches["new"].read() is aio.EOF


async def test_an_address_that_sends_bad_tokens_is_refused_before_they_are_verified(
    tmp_path: Path,
) -> None:
    async with framed(tmp_path, refused_tokens_burst=3, refused_tokens_per_second=0.001) as frame:
        signed_in = frame.metadata(subject="ann")
        assert await frame.unary()("hello", metadata=signed_in) == "hello"
        bad = [(("authorization", f"Bearer {number}.y.z"),) for number in range(4)]
        reasons = [(await refusal(frame.unary()("hello", metadata=one))).reason for one in bad]
        assert reasons == ["TOKEN_INVALID"] * 3 + ["RATE_LIMITED"]
        # A token that was verified before stays good, a new one waits as the bad ones do.
        assert await frame.unary()("hello", metadata=signed_in) == "hello"
        new = frame.metadata(subject="bob")
        assert (await refusal(frame.unary()("hello", metadata=new))).reason == "RATE_LIMITED"


def from_client(number: int, forwarded: str) -> tuple[tuple[str, str], ...]:
    """A token that is refused, and what a proxy or a client says of its address."""
    return (("authorization", f"Bearer {number}.y.z"), ("x-forwarded-for", forwarded))


async def test_behind_a_trusted_proxy_each_client_has_its_own_limit(tmp_path: Path) -> None:
    async with framed(
        tmp_path,
        refused_tokens_burst=1,
        refused_tokens_per_second=0.001,
        trusted_proxies="10.0.0.0/8, 127.0.0.1, ::1",
    ) as frame:

        async def reason(number: int, *forwarded: str) -> str:
            metadata = from_client(number, forwarded[0])
            more = tuple(("x-forwarded-for", value) for value in forwarded[1:])
            return (await refusal(frame.unary()("hello", metadata=metadata + more))).reason

        assert await reason(1, "192.0.2.1") == "TOKEN_INVALID"
        assert await reason(2, "192.0.2.1") == "RATE_LIMITED"
        assert await reason(3, "192.0.2.2") == "TOKEN_INVALID"
        # The client's own entries come before the one of the proxy and change nothing.
        assert await reason(4, "203.0.113.9, 192.0.2.1") == "RATE_LIMITED"
        assert await reason(5, "203.0.113.9", "10.1.1.1,192.0.2.2") == "RATE_LIMITED"
        # A chain of proxies: the client is the last address that is no proxy.
        assert await reason(6, "192.0.2.1, 10.1.1.1") == "RATE_LIMITED"
        assert await reason(7, "192.0.2.3, 10.1.1.1, ::ffff:10.2.2.2") == "TOKEN_INVALID"
        assert await reason(8, "192.0.2.3") == "RATE_LIMITED"
        # An entry that is no address counts for the proxy that passed it on.
        assert await reason(9, "someone, 10.9.9.9") == "TOKEN_INVALID"
        assert await reason(10, "someone else, 10.9.9.9") == "RATE_LIMITED"


async def test_a_client_that_is_no_trusted_proxy_cannot_choose_its_address(
    tmp_path: Path,
) -> None:
    for proxies in ("", "192.0.2.0/24"):
        async with framed(
            tmp_path,
            refused_tokens_burst=1,
            refused_tokens_per_second=0.001,
            trusted_proxies=proxies,
        ) as frame:
            for number, expected in enumerate(["TOKEN_INVALID", "RATE_LIMITED"]):
                metadata = from_client(number, f"192.0.2.{number}")
                assert (await refusal(frame.unary()("hello", metadata=metadata))).reason == expected


async def test_one_address_cannot_take_all_streams_without_a_token(tmp_path: Path) -> None:
    async with framed(tmp_path, address_streams_max=2, trusted_proxies="127.0.0.1,::1") as frame:

        def opened(address: str) -> Any:
            return frame.watch("PublicWatch")("a", metadata=(("x-forwarded-for", address),))

        streams = [opened("192.0.2.1") for _ in range(2)]
        assert [await stream.read() for stream in streams] == ["a", "a"]
        assert (await refusal(opened("192.0.2.1"))).reason == "TOO_MANY_WATCHES"
        other = opened("192.0.2.2")
        assert await other.read() == "a"
        frame.methods.go.set()
        for stream in (*streams, other):
            assert await stream.read() is aio.EOF
        assert await opened("192.0.2.1").read() == "a"
