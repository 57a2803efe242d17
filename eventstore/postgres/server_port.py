"""The TCP port of the embedded server."""

from __future__ import annotations

import contextlib
import secrets
import socket
import time

PORTS = range(16_384, 32_768)
"""Ports below those that operating systems assign by themselves.

Clients find a restarted server by its port. While the server is down, the system must not assign
that port to another program.
"""
WAIT_SECONDS_MAX = 10.0


def is_listening(port: int, timeout_seconds: float) -> bool:
    """Return whether a process accepts connections on a loopback port."""
    with socket.socket() as probe:
        probe.settimeout(timeout_seconds)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_until_free(port: int) -> bool:
    """Return whether a port is free, after waiting up to WAIT_SECONDS_MAX for it.

    Remaining processes of a killed server may hold the port for a moment.
    """
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not _is_free(port):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def choose_free_port() -> int:
    """Return a random free port of PORTS."""
    while True:
        port = secrets.choice(PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
