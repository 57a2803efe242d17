"""Check the fields of MatchService's requests. See `service.rpc.validation`."""

from durak.v1 import match_service_pb2 as api
from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import Phase
from service.rpc.validation import SEATS_MAX, Faults, Target, check_move, check_settings

CLIENT_SEED_BYTES_MAX = 64

_BOT_LEVELS = frozenset(BotLevel.values()) - {0}
_PHASES = frozenset(Phase.values())

_Targeted = (
    api.TakeSeatRequest
    | api.SeatBotRequest
    | api.LeaveMatchRequest
    | api.CancelTableRequest
    | api.PlayRequest
)


def open_table(request: api.OpenTableRequest, prefix: str = "") -> bytes:
    """The request id."""
    faults = Faults(prefix)
    request_id = faults.uuid("request_id", request.request_id)
    if request.HasField("settings"):
        check_settings(faults, request.settings)
        if request.settings.series_id:
            faults.add("settings.series_id", "is set by the server: leave it empty")
    else:
        faults.add("settings", "is required")
    faults.check()
    return request_id


def take_seat(request: api.TakeSeatRequest, prefix: str = "") -> Target:
    """The target; `seat` and `client_seed` are checked."""
    faults = Faults(prefix)
    target = _target(faults, request)
    faults.at_most("seat", request.seat, SEATS_MAX - 1)
    faults.length("client_seed", request.client_seed, CLIENT_SEED_BYTES_MAX)
    faults.check()
    return target


def seat_bot(request: api.SeatBotRequest, prefix: str = "") -> Target:
    """The target; `seat` and `level` are checked."""
    faults = Faults(prefix)
    target = _target(faults, request)
    faults.at_most("seat", request.seat, SEATS_MAX - 1)
    faults.known("level", request.level, _BOT_LEVELS)
    faults.check()
    return target


def leave_match(request: api.LeaveMatchRequest, prefix: str = "") -> Target:
    """The target."""
    faults = Faults(prefix)
    target = _target(faults, request)
    faults.check()
    return target


def cancel_table(request: api.CancelTableRequest, prefix: str = "") -> Target:
    """The target."""
    faults = Faults(prefix)
    target = _target(faults, request)
    faults.check()
    return target


def play(request: api.PlayRequest, prefix: str = "") -> Target:
    """The target; the move is one of the kinds, with cards that exist."""
    faults = Faults(prefix)
    target = _target(faults, request)
    check_move(faults, request.move)
    faults.check()
    return target


def rematch(request: api.RematchRequest, prefix: str = "") -> Target:
    """The target, without an expected version; `client_seed` is checked."""
    faults = Faults(prefix)
    target = Target(
        faults.uuid("match_id", request.match_id),
        faults.uuid("request_id", request.request_id),
        None,
    )
    faults.length("client_seed", request.client_seed, CLIENT_SEED_BYTES_MAX)
    faults.check()
    return target


def get_match(request: api.GetMatchRequest) -> bytes:
    """The match id."""
    faults = Faults()
    match_id = faults.uuid("match_id", request.match_id)
    faults.check()
    return match_id


def review_match(request: api.ReviewMatchRequest) -> bytes:
    """The match id."""
    faults = Faults()
    match_id = faults.uuid("match_id", request.match_id)
    faults.check()
    return match_id


def watch_match(request: api.WatchMatchRequest, prefix: str = "") -> bytes:
    """The match id."""
    faults = Faults(prefix)
    match_id = faults.uuid("match_id", request.match_id)
    faults.not_negative("after_version", request.after_version)
    faults.check()
    return match_id


def list_matches(request: api.ListMatchesRequest) -> int:
    """Check the fields; return the size of the page."""
    faults = Faults()
    faults.known("phase", request.phase, _PHASES)
    size = faults.page(request)
    faults.check()
    return size


def session_watch(request: api.SessionWatch) -> tuple[bytes, bytes]:
    """The request id and the match id."""
    faults = Faults("watch.")
    request_id = faults.uuid("request_id", request.request_id)
    match_id = faults.uuid("watch.match_id", request.watch.match_id)
    faults.not_negative("watch.after_version", request.watch.after_version)
    faults.check()
    return request_id, match_id


def session_unwatch(request: api.SessionUnwatch) -> bytes:
    """The request id of the watch."""
    faults = Faults("unwatch.")
    request_id = faults.uuid("request_id", request.request_id)
    faults.check()
    return request_id


def _target(faults: Faults, request: _Targeted) -> Target:
    return Target(
        faults.uuid("match_id", request.match_id),
        faults.uuid("request_id", request.request_id),
        faults.expected_version(request),
    )
