"""The log: structlog lines on standard error, with the trace id of the running call.

Lines never contain requests, replies, tokens or cards.
"""

import logging
import sys
from contextlib import suppress
from functools import partial
from typing import Any

import structlog

from service.config import Config
from service.rpc.call import current_call
from service.rpc.log_writer import LogWriter


def configure_logging(config: Config, process: int | None = None) -> None:
    """Configure the log of the process. The entry point calls this once.

    `process` is the number of this process if several share standard error. Each line has it then.
    Libraries log to the same place. Tracebacks do not show values of variables, which can be cards.
    """
    level = logging.getLevelNamesMapping()[config.log_level.upper()]
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_trace_id,
    ]
    if process is not None:
        shared.append(partial(_add_process, process))
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    last: list[structlog.typing.Processor]
    if config.log_format == "json":
        last = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ]
    else:
        plain = structlog.dev.plain_traceback
        last = [structlog.dev.ConsoleRenderer(exception_formatter=plain)]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
    )
    handler = LogWriter(sys.stderr.fileno(), is_shared=process is not None)
    handler.setFormatter(formatter)
    handler.addFilter(_shows_no_metadata)
    # Level `debug` is only for this service: libraries would hide its lines.
    logging.basicConfig(level=max(level, logging.INFO), handlers=[handler], force=True)
    for package in ("service", "eventstore"):
        logging.getLogger(package).setLevel(level)


def _add_process(
    process: int,
    _: Any,  # noqa: ANN401 - a processor of structlog
    __: str,
    event: structlog.typing.EventDict,
) -> structlog.typing.EventDict:
    """Add the number of this process to a line."""
    event["process"] = process
    return event


def _add_trace_id(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:  # noqa: ANN401
    """Add the trace id of the running call to a line."""
    with suppress(LookupError):
        event.setdefault("trace_id", current_call().trace_id.hex())
    return event


def _shows_no_metadata(line: logging.LogRecord) -> bool:
    """Reject lines in which gRPC shows metadata that it cannot decode. It can be a token."""
    return not (line.name.startswith("grpc") and "Invalid encoding" in line.getMessage())
