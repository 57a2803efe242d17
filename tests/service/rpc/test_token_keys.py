"""Key sets are read again when they must be, never too often and never for too long."""

from __future__ import annotations

import asyncio
import json
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.rpc.token_keys import DevelopmentKey, KeySet, KeySetError
from tests.service.tokens import jwk


class Issuer(ThreadingHTTPServer):
    """Serves a key set over HTTP, and counts how often it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        self.content = b""
        self.status = 200
        self.asked = 0
        issuer = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                self.send_response(issuer.status)
                self.end_headers()
                self.wfile.write(issuer.content)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as inherited
                pass

        super().__init__(("127.0.0.1", 0), Answer)

    def publish(self, *key_ids: str) -> None:
        entries = [jwk(Ed25519PrivateKey.generate().public_key(), key_id) for key_id in key_ids]
        self.content = json.dumps({"keys": entries}).encode()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/jwks.json"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def key_set(location: str, *, refresh: float = 300, retry: float = 300) -> KeySet:
    return KeySet(
        location, refresh_seconds=refresh, retry_seconds=retry, timeout_seconds=1, stale_seconds=600
    )


async def kept_fresh_until(keys: KeySet, condition: Callable[[], bool]) -> None:
    """Refresh the keys in the background until the condition holds."""
    task = asyncio.create_task(keys.keep_fresh())
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - no event fires when an age is reached
            await asyncio.sleep(0.001)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_known_keys_cost_no_request(issuer: Issuer) -> None:
    issuer.publish("a", "b")
    keys = key_set(issuer.address)
    await keys.load()
    for _ in range(5):
        assert await keys.find("a")
        assert await keys.find("b")
    assert issuer.asked == 1


async def test_an_unknown_key_id_causes_one_request_for_all_who_ask(issuer: Issuer) -> None:
    issuer.publish("a")
    keys = key_set(issuer.address, retry=0)
    await keys.load()
    issuer.publish("a", "new")
    found = await asyncio.gather(*(keys.find("new") for _ in range(20)))
    assert all(found)
    assert issuer.asked == 2


async def test_unknown_key_ids_cause_no_flood_of_requests(issuer: Issuer) -> None:
    issuer.publish("a")
    keys = key_set(issuer.address, retry=300)
    await keys.load()
    for number in range(20):
        assert await keys.find(f"made up {number}") is None
    assert issuer.asked == 1


async def test_old_keys_stay_in_use_while_the_issuer_fails(issuer: Issuer) -> None:
    issuer.publish("a")
    keys = key_set(issuer.address, refresh=0.001)
    await keys.load()
    issuer.status = 500
    await kept_fresh_until(keys, lambda: issuer.asked >= 3)
    assert await keys.find("a")
    assert keys.is_trusted


async def test_keys_that_could_not_be_read_for_too_long_are_not_trusted(issuer: Issuer) -> None:
    issuer.publish("a")
    keys = KeySet(
        issuer.address,
        refresh_seconds=0.001,
        retry_seconds=300,
        timeout_seconds=1,
        stale_seconds=0.05,
    )
    assert not keys.is_trusted
    await keys.load()
    issuer.status = 500
    await kept_fresh_until(keys, lambda: not keys.is_trusted)
    issuer.status = 200
    await kept_fresh_until(keys, lambda: keys.is_trusted)


async def test_T09_a_key_that_leaves_the_key_set_is_reported_once(issuer: Issuer) -> None:
    issuer.publish("a", "b")
    keys = key_set(issuer.address, refresh=0.001)
    await keys.load()
    changes: list[bool] = []
    keys.listeners.append(lambda: changes.append(keys.lookup("a") is None))
    issuer.publish("b")
    await kept_fresh_until(keys, lambda: keys.lookup("a") is None)
    await kept_fresh_until(keys, lambda: issuer.asked >= 5)
    assert changes == [True]


async def test_T09_an_empty_key_set_revokes_all_keys(issuer: Issuer) -> None:
    issuer.publish("a")
    keys = key_set(issuer.address, refresh=0.001)
    await keys.load()
    issuer.content = b'{"keys": []}'
    await kept_fresh_until(keys, lambda: keys.lookup("a") is None)
    assert keys.lookup(None) is None


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"keys": 1}', b'{"keys": []}', b"[" * 100_000]
)
async def test_an_invalid_key_set_is_refused(issuer: Issuer, content: bytes) -> None:
    issuer.content = content
    with pytest.raises(KeySetError):
        await key_set(issuer.address).load()


async def test_an_issuer_who_does_not_answer_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started = time.monotonic()
        with pytest.raises(KeySetError):
            await key_set(f"http://127.0.0.1:{silent.getsockname()[1]}/").load()
        assert time.monotonic() - started < 10


async def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(KeySetError):
        await key_set(str(tmp_path / "none.json")).load()


def test_the_development_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    first, second = DevelopmentKey.in_folder(folder), DevelopmentKey.in_folder(folder)
    assert first.private_key.private_bytes_raw() == second.private_key.private_bytes_raw()
    (path,) = folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_development_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    DevelopmentKey.in_folder(tmp_path)
    (path,) = tmp_path.iterdir()
    path.chmod(0o644)
    with pytest.raises(KeySetError, match="chmod 600"):
        DevelopmentKey.in_folder(tmp_path)


def test_makers_of_the_development_key_at_the_same_moment_agree(tmp_path: Path) -> None:
    made: list[bytes] = []
    gate = threading.Barrier(8)

    def make() -> None:
        gate.wait()
        made.append(DevelopmentKey.in_folder(tmp_path).private_key.private_bytes_raw())

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    assert len(set(made)) == 1
