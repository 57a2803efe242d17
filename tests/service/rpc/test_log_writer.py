"""O15: a log that nobody reads stops nobody, and lost lines are counted."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import pytest

from service.rpc.log_writer import LogWriter


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    outer, inner = os.pipe()
    yield outer, inner
    for file in (outer, inner):
        with suppress(OSError):
            os.close(file)


def line(text: str) -> logging.LogRecord:
    return logging.LogRecord("durak", logging.INFO, __file__, 1, text, None, None)


def test_lines_come_in_order(pipe: tuple[int, int]) -> None:
    outer, inner = pipe
    writer = LogWriter(inner)
    for number in range(100):
        writer.emit(line(f"line {number}"))
    writer.flush()
    assert os.read(outer, 65_536).decode().splitlines() == [f"line {n}" for n in range(100)]
    assert writer.lost == 0


def test_O15_a_pipe_that_nobody_reads_blocks_nobody(pipe: tuple[int, int]) -> None:
    outer, inner = pipe
    writer = LogWriter(inner, pending_bytes_max=100_000)
    logging.getLogger("service.rpc.log_writer").addHandler(writer)
    text = "x" * 999
    try:
        for _ in range(1_000):  # a megabyte; a pipe holds 64 KiB
            writer.emit(line(text))
        lost = writer.lost
        assert 1_000 - 100 - 66 <= lost <= 1_000 - 99
        before = time.monotonic()
        writer.flush()
        assert time.monotonic() - before < 10
        found = b""
        told = f"log lines lost: {lost} since the start".encode()
        while told not in found or found.count(text.encode()) < 1_000 - lost:
            found += os.read(outer, 65_536)
        assert found.count(text.encode()) == 1_000 - lost
    finally:
        logging.getLogger("service.rpc.log_writer").removeHandler(writer)


def test_a_closed_reader_costs_only_the_lines(pipe: tuple[int, int]) -> None:
    outer, inner = pipe
    writer = LogWriter(inner)
    os.close(outer)
    for _ in range(3):
        writer.emit(line("gone"))
    writer.flush()
    assert writer.lost == 3


LAST_WORDS = """
import logging, os
from service.config import Config
from service.rpc.logs import configure_logging
configure_logging(Config())
logging.getLogger("service").info("the last line")
"""


def test_the_last_lines_of_a_process_are_written() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LAST_WORDS], capture_output=True, text=True, check=True
    )
    assert "the last line" in done.stderr


LONG_LINES = """
import json
import logging
from service.config import Config
from service.rpc.logs import configure_logging
configure_logging(Config(), {number})
for number in range(50):
    logging.getLogger("service").info("x" * 20_000)
"""


def test_lines_of_several_processes_stay_whole(pipe: tuple[int, int]) -> None:
    outer, inner = pipe
    writers = [
        subprocess.Popen([sys.executable, "-c", LONG_LINES.format(number=number)], stderr=inner)
        for number in (1, 2, 3)
    ]
    os.close(inner)
    with os.fdopen(os.dup(outer), "rb") as lines:
        found = [json.loads(line) for line in lines]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert Counter(line["process"] for line in found) == {1: 50, 2: 50, 3: 50}
    assert {len(line["event"]) for line in found} == {20_000}
