"""The messages and exit codes for errors that commands raise."""

import errno
from typing import Final

from pydantic import ValidationError

from domain.practice import PuzzleError
from eventstore.errors import EmbeddedPostgresError, StoreError, StoreUnavailable
from service.checkpoints.signing_keys import NoteKeyError
from service.cli.client import CallRefused, ServerUnreachable
from service.cli.exits import EXIT_FAILED, EXIT_MISUSED, EXIT_UNREACHABLE
from service.processes.parent import ProcessFailedError
from service.rpc.port import StartError
from service.rpc.token_keys import KeySetError

_DISK_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def explain_error(error: Exception) -> tuple[list[str], int] | None:
    """Return the messages and the exit code for an expected error; None for other errors."""
    match error:
        case ExceptionGroup(exceptions=(first, *_)):
            return explain_error(first)
        case ValidationError():
            return [_setting(fault["loc"], fault["msg"]) for fault in error.errors()], EXIT_MISUSED
        case StoreUnavailable() | EmbeddedPostgresError():
            return [f"the database cannot be reached: {error}"], EXIT_UNREACHABLE
        case ServerUnreachable():
            return [f"{error}: is it running? `durak serve` starts one"], EXIT_UNREACHABLE
        case CallRefused():
            return [str(error), *getattr(error, "__notes__", ())], EXIT_FAILED
        case ProcessFailedError():
            return [str(error)], max(error.exit_code, EXIT_FAILED)  # a signal is negative
        case StoreError() | StartError() | KeySetError() | NoteKeyError() | PuzzleError():
            return [str(error)], EXIT_FAILED
        case OSError() if error.filename is not None and error.strerror:
            return [f"{error.filename}: {error.strerror}"], EXIT_FAILED
        case OSError() if error.errno in _DISK_FULL:
            return [f"cannot write the output: {error.strerror}"], EXIT_FAILED
    return None


def _setting(place: tuple[int | str, ...], fault: str) -> str:
    """Return the message for a wrong setting, or for a wrong combination of settings."""
    name = f"setting {'_'.join(map(str, place))}" if place else "settings"
    return f"{name}: {fault.removeprefix('Value error, ')}"
