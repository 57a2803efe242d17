"""A real Envoy with the configuration of `deploy/edge`, in front of a service."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

EDGE = Path(__file__).parents[2] / "deploy" / "edge" / "edge.py"
START_SECONDS = 30.0


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@asynccontextmanager
async def edge(service_port: int, **settings: str) -> AsyncIterator[int]:
    """Run the edge in plain text unless `settings` name a certificate. Yield its port."""
    port = int(settings.get("LISTEN_PORT") or free_port())
    given = {"LISTEN_PORT": str(port), "SERVICE_PORT": str(service_port), **settings}
    environment = {**os.environ, **{f"EDGE_{name}": value for name, value in given.items()}}
    process = await asyncio.create_subprocess_exec(sys.executable, EDGE, env=environment)
    try:
        if "TLS_CERTIFICATE" not in settings:
            await asyncio.to_thread(_wait_until_ready, port)
        yield port
    finally:
        process.terminate()
        await process.wait()


def _wait_until_ready(port: int) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        try:
            urlopen(f"http://127.0.0.1:{port}/ready", timeout=1).close()
        except (URLError, TimeoutError):
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the edge is not ready")
