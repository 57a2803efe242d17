"""The limits of the store, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on what the store holds, sends and waits for."""

    batchers: int = 1
    """Batchers, each with one connection. A stream always uses the same batcher.

    One batcher makes the largest batches, and is the fastest choice where the processor is the
    bottleneck. More batchers help where the round trip to the database is long.
    """
    batch_appends_max: int = 256
    """Appends in one statement."""
    batch_bytes_max: int = 4 << 20
    """Record bytes in one statement. A single append may exceed it."""
    waiting_appends_max: int = 10_000
    """Appends waiting in all batchers. Further appends raise StoreOverloaded."""
    append_records_max: int = 256
    """Records in one append."""
    record_bytes_max: int = 64 << 10
    """Size of one record."""
    summary_bytes_max: int = 16 << 10
    """Size of the summary of a lobby row."""
    retry_timeout_seconds: float = 10.0
    """How long an operation is retried while the database is unavailable."""
    connect_seconds_max: float = 3.0
    """How long one attempt to connect may take. A server that dies meanwhile never answers it."""
    statement_timeout_seconds: float = 15.0
    """How long one statement may run."""
    close_seconds_max: float = 2.0
    """How long waiting appends get when the store is closed."""
    idle_connection_seconds_max: float = 30.0
    """Idle time after which a connection is closed instead of used. Firewalls silently drop
    connections that were idle for minutes."""
    unacknowledged_seconds_max: float = 1.5
    """How long the network may leave sent bytes unacknowledged before the connection is lost. A
    database that is only busy acknowledges them."""
    read_connections_max: int = 4
    """Connections for reads and for updates of read models."""
    coin_connections_max: int = 4
    """Connections for grants, corrections, disputes and the administrative log. Stakes have a
    batcher with a connection of its own."""
    page_rows_max: int = 2_000
    """Rows of one page in reads of many streams."""
