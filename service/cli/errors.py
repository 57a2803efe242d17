"""What is told of a fault that could be foreseen: one sentence, and an exit code."""

import errno
from typing import Final

from pydantic import ValidationError

from eventstore.errors import EmbeddedPostgresError, StoreError, StoreUnavailable
from service.checkpoints.signing_keys import NoteKeyError
from service.cli.client import CallRefused, ServerUnreachable
from service.rpc.token_keys import KeySetError
from service.server import StartError

EXIT_FAILED: Final = 1
EXIT_MISUSED: Final = 2
EXIT_UNREACHABLE: Final = 3
_DISK_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def explain_error(error: Exception) -> tuple[list[str], int] | None:
    """The sentences and the exit code; None for what nobody foresaw."""
    match error:
        case ValidationError():
            return [_setting(fault["loc"], fault["msg"]) for fault in error.errors()], EXIT_MISUSED
        case StoreUnavailable() | EmbeddedPostgresError():
            return [f"the database cannot be reached: {error}"], EXIT_UNREACHABLE
        case ServerUnreachable():
            return [f"{error}: is it running? `durak serve` starts one"], EXIT_UNREACHABLE
        case CallRefused() | StoreError() | StartError() | KeySetError() | NoteKeyError():
            return [str(error)], EXIT_FAILED
        case OSError() if error.filename is not None and error.strerror:
            return [f"{error.filename}: {error.strerror}"], EXIT_FAILED
        case OSError() if error.errno in _DISK_FULL:
            return [f"what was asked for cannot be written: {error.strerror}"], EXIT_FAILED
    return None


def _setting(place: tuple[int | str, ...], fault: str) -> str:
    """What is wrong with a setting, or with several together, which pydantic says in its way."""
    name = f"setting {'_'.join(map(str, place))}" if place else "settings"
    return f"{name}: {fault.removeprefix('Value error, ')}"
