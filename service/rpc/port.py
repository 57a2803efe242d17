"""The port that the service listens on, and the settings of its connections."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from grpc import aio
from grpc_health.v1.health_pb2_grpc import HealthServicer, add_HealthServicer_to_server

from service.config import Config
from service.rpc.tls import server_credentials

_HEALTH_CHECKS_MAX: Final = 64
"""Health checks that the port for them answers at a time."""


class StartError(Exception):
    """The service cannot start as configured; the text says what to fix."""


def channel_options(config: Config) -> list[tuple[str, int]]:
    """Return the channel arguments of the server; see grpc/impl/channel_arg_names.h."""
    return [
        ("grpc.max_receive_message_length", config.receive_bytes_max),
        # Only identity. gRPC inflates a message before it applies the size limit and before the
        # token is checked: 58 KB that inflate to 60 MB took 190 ms of CPU.
        ("grpc.compression_enabled_algorithms_bitset", 1),
        ("grpc.max_metadata_size", config.metadata_bytes_max),
        ("grpc.absolute_max_metadata_size", config.metadata_bytes_max),
        ("grpc.max_concurrent_streams", config.connection_streams_max),
        ("grpc.keepalive_time_ms", _milliseconds(config.keepalive_interval_seconds)),
        ("grpc.keepalive_timeout_ms", _milliseconds(config.keepalive_timeout_seconds)),
        ("grpc.keepalive_permit_without_calls", 1),
        # gRPC varies this by a tenth, so that connections do not end together. Open streams stay.
        ("grpc.max_connection_age_ms", _milliseconds(config.connection_age_seconds_max)),
        (
            "grpc.http2.min_recv_ping_interval_without_data_ms",
            _milliseconds(config.client_ping_interval_seconds_min),
        ),
        # Windows stay at 64 KiB. If gRPC adapted them to the speed of the connection, each session
        # that is not read at the moment could take more than 10 MB of memory.
        ("grpc.http2.bdp_probe", 0),
        _sharing(config),
    ]


def listen(server: aio.Server, config: Config) -> int:
    """Open the port, with TLS if configured, and return its number. Raises StartError."""
    address = f"{config.listen_host}:{config.listen_port}"
    if config.tls_certificate is None or config.tls_key is None:
        return _open(partial(server.add_insecure_port, address), address)
    try:
        credentials = server_credentials(config.tls_certificate, config.tls_key)
    except OSError as error:
        raise StartError(f"the certificate or its key cannot be read: {error}") from error
    return _open(partial(server.add_secure_port, address, credentials), address)


@asynccontextmanager
async def health_port(health: HealthServicer, config: Config) -> AsyncIterator[int | None]:
    """Answer health checks without TLS at the port that is set, during the block.

    Yields the number of the port. Raises StartError.
    """
    if config.health_port is None:
        yield None
        return
    server = aio.server(options=[_sharing(config)], maximum_concurrent_rpcs=_HEALTH_CHECKS_MAX)
    add_HealthServicer_to_server(health, server)
    address = f"{config.listen_host}:{config.health_port}"
    port = _open(partial(server.add_insecure_port, address), address)
    await server.start()
    try:
        yield port
    finally:
        await server.stop(None)


def _sharing(config: Config) -> tuple[str, int]:
    """Return the option that says whether another server may listen on the port.

    For one process, a port that is taken is an error, not a second server. Several processes share
    the ports that their parent has reserved.
    """
    return ("grpc.so_reuseport", int(config.processes != 1))


def _open(open_port: Callable[[], int], address: str) -> int:
    try:
        return open_port()
    except RuntimeError as error:
        raise StartError(f"{address} cannot be listened on: is the port taken?") from error


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1_000)
