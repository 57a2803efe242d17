"""Where a command calls the service, and whether it encrypts.

A token in plain text can be read by everybody on the way. So plain text goes to this machine alone,
unless `--plaintext` is given.
"""

import ipaddress
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from grpc import aio

from service.cli.exits import CommandError
from service.config import Config


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address (host:port), and the authorities (PEM) whose certificates count there."""

    address: str
    authorities: bytes | None
    """None: plain text."""

    def channel(self, options: tuple[tuple[str, int], ...] = ()) -> aio.Channel:
        """Return a channel. It connects with the first call."""
        if self.authorities is None:
            return aio.insecure_channel(self.address, options=options)
        credentials = grpc.ssl_channel_credentials(self.authorities)
        return aio.secure_channel(self.address, credentials, options=options)


def endpoint_of(given: Mapping[str, Any], config: Config) -> Endpoint:
    """Return the endpoint of the options SERVER, CERTIFICATE and PLAINTEXT. Raises CommandError."""
    server, certificate = given["server"], given["certificate"]
    return find_endpoint(server, certificate, config, plaintext=given["plaintext"])


def find_endpoint(
    server: str | None, certificate: Path | None, config: Config, *, plaintext: bool
) -> Endpoint:
    """Return the endpoint for the values of the options. Raises CommandError.

    Without `server`: the service on this machine with these settings.
    """
    if plaintext and certificate is not None:
        raise CommandError("give only one of --ca and --plaintext")
    address = server or f"{config.listen_host}:{config.listen_port}"
    if certificate is None and server is None:
        certificate = config.tls_certificate
    if certificate is not None:
        return Endpoint(address, certificate.read_bytes())
    if plaintext or is_this_machine(address):
        return Endpoint(address, None)
    return Endpoint(address, system_authorities())


def is_this_machine(address: str) -> bool:
    """Return whether bytes sent to an address (host:port, or a socket) stay on this machine.

    >>> [is_this_machine(it) for it in ("localhost:1", "127.0.0.9:1", "[::1]:1", "unix:/run/durak")]
    [True, True, True, True]
    >>> [is_this_machine(it) for it in ("durak.example:443", "10.0.0.1:1", "localhost.example:1")]
    [False, False, False]
    """
    if address.startswith(("unix:", "unix-abstract:")):
        return True
    host = address.rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    # A service that listens on every address is called on this machine.
    return found.is_loopback or found.is_unspecified


def system_authorities() -> bytes:
    """Return the certificate authorities of the system (PEM). Raises CommandError."""
    paths = ssl.get_default_verify_paths()
    files = [Path(paths.cafile)] if paths.cafile else []
    if not files and paths.capath:
        files = sorted(Path(paths.capath).glob("*.pem"))
    found = b"".join(file.read_bytes() for file in files)
    if not found:
        raise CommandError("this system has no certificate authorities: give a PEM file with --ca")
    return found
