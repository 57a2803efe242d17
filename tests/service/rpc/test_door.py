"""Calls that are refused before they cost anything: compressed, with two tokens, or revoked."""

from __future__ import annotations

import json
from pathlib import Path

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
