"""Checks the fields of MatchService's requests. See `service.rpc.validation`.

Each function raises Refused MALFORMED_FIELD with every faulty field. `prefix` goes before the field
paths: on a session it is the name of the request.
"""

from domain.match.deal import HASH_BYTES, SECRET_BYTES
from durak.v1 import match_service_pb2 as api
from durak.v1.settings_pb2 import BotLevel
from durak.v1.table_pb2 import Phase
from service.rpc.validation import SEATS_MAX, Faults, Target, check_move, check_settings

INVITED_MAX = 32
LINK_SECRET_BYTES_MIN = 16
LINK_SECRET_BYTES_MAX = 64
_BOT_LEVELS = frozenset(BotLevel.values()) - {0}
_PHASES = frozenset(Phase.values())

_Targeted = (
    api.TakeSeatRequest
    | api.SeatBotRequest
    | api.RevealSeedRequest
    | api.LeaveMatchRequest
    | api.RemovePlayerRequest
    | api.CancelTableRequest
    | api.PlayRequest
)


def open_table(request: api.OpenTableRequest, prefix: str = "") -> bytes:
    """Return the request id."""
    faults = Faults(prefix)
    request_id = faults.uuid("request_id", request.request_id)
    if request.HasField("settings"):
        check_settings(faults, request.settings)
        if request.settings.series_id:
            faults.add("settings.series_id", "is set by the server: leave it empty")
    else:
        faults.add("settings", "is required")
    if len(request.invited) > INVITED_MAX:
        faults.add("invited", f"must have at most {INVITED_MAX} players")
    for at, player_id in enumerate(request.invited[:INVITED_MAX]):
        faults.player(f"invited[{at}]", player_id)
    if request.link_secret and len(request.link_secret) < LINK_SECRET_BYTES_MIN:
        faults.add("link_secret", f"must be at least {LINK_SECRET_BYTES_MIN} bytes long")
    faults.length("link_secret", request.link_secret, LINK_SECRET_BYTES_MAX)
    faults.check()
    return request_id


def take_seat(request: api.TakeSeatRequest, prefix: str = "") -> Target:
    """Return the target; checks `seat`, `client_seed_hash` and `link_secret` too."""
    faults = Faults(prefix)
    target = _target(faults, request)
    faults.at_most("seat", request.seat, SEATS_MAX - 1)
    _check_hash(faults, request.client_seed_hash)
    faults.length("link_secret", request.link_secret, LINK_SECRET_BYTES_MAX)
    faults.check()
    return target


def seat_bot(request: api.SeatBotRequest, prefix: str = "") -> Target:
    """Return the target; checks `seat` and `level` too."""
    faults = Faults(prefix)
    target = _target(faults, request)
    faults.at_most("seat", request.seat, SEATS_MAX - 1)
    faults.known("level", request.level, _BOT_LEVELS)
    faults.check()
    return target


def reveal_seed(request: api.RevealSeedRequest, prefix: str = "") -> Target:
    """Return the target; checks `secret` too."""
    faults = Faults(prefix)
    target = _target(faults, request)
    if len(request.secret) != SECRET_BYTES:
        faults.add("secret", f"must be {SECRET_BYTES} bytes")
    faults.check()
    return target


def play(request: api.PlayRequest, prefix: str = "") -> Target:
    """Return the target; checks that the move has a kind and cards that exist."""
    faults = Faults(prefix)
    target = _target(faults, request)
    check_move(faults, request.move)
    faults.check()
    return target


def only_target(
    request: api.LeaveMatchRequest | api.CancelTableRequest, prefix: str = ""
) -> Target:
    """Return the target of a request without further fields."""
    faults = Faults(prefix)
    target = _target(faults, request)
    faults.check()
    return target


def remove_player(request: api.RemovePlayerRequest, prefix: str = "") -> Target:
    """Return the target; checks `player_id` too."""
    faults = Faults(prefix)
    target = _target(faults, request)
    faults.player("player_id", request.player_id)
    faults.check()
    return target


def rematch(request: api.RematchRequest, prefix: str = "") -> Target:
    """Return the target, without an expected version; checks `client_seed_hash` too."""
    faults = Faults(prefix)
    target = Target(
        faults.uuid("match_id", request.match_id),
        faults.uuid("request_id", request.request_id),
        None,
    )
    _check_hash(faults, request.client_seed_hash)
    faults.check()
    return target


def match_id(request: api.GetMatchRequest | api.ReviewMatchRequest) -> bytes:
    """Return the match id."""
    faults = Faults()
    found = faults.uuid("match_id", request.match_id)
    faults.check()
    return found


def watch_match(request: api.WatchMatchRequest) -> bytes:
    """Return the match id; checks `after_version` too."""
    faults = Faults()
    found = faults.uuid("match_id", request.match_id)
    faults.not_negative("after_version", request.after_version)
    faults.check()
    return found


def list_matches(request: api.ListMatchesRequest) -> int:
    """Return the size of the page; checks `phase` and `opened_by` too."""
    faults = Faults()
    faults.known("phase", request.phase, _PHASES)
    if request.opened_by:
        faults.player("opened_by", request.opened_by)
    size = faults.page(request)
    faults.check()
    return size


def session_watch(request: api.SessionWatch) -> bytes:
    """Return the match id; checks the request id and `after_version` too."""
    faults = Faults("watch.")
    faults.uuid("request_id", request.request_id)
    found = faults.uuid("watch.match_id", request.watch.match_id)
    faults.not_negative("watch.after_version", request.watch.after_version)
    faults.check()
    return found


def session_unwatch(request: api.SessionUnwatch) -> None:
    """Check the request id of the watch."""
    faults = Faults("unwatch.")
    faults.uuid("request_id", request.request_id)
    faults.check()


def _check_hash(faults: Faults, client_seed_hash: bytes) -> None:
    if len(client_seed_hash) not in (0, HASH_BYTES):
        faults.add("client_seed_hash", f"must be {HASH_BYTES} bytes, or empty")


def _target(faults: Faults, request: _Targeted) -> Target:
    return Target(
        faults.uuid("match_id", request.match_id),
        faults.uuid("request_id", request.request_id),
        faults.expected_version(request),
    )
