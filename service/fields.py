"""Checks of the fields of requests, written by hand: they run on every call.

Each function takes one request whole and gives its ids parsed, or raises Refused MALFORMED_FIELD
with every faulty field by its path. What is left in the request is then well-formed: enums are
numbers of the contract, cards are cards, texts and bytes are within their limits. Whether it is
sensible is for the domain to say. On a session the paths begin with the name of the request.
"""

from typing import NamedTuple

from domain.refusal import FieldFault, Refusal
from durak.v1 import errors_pb2 as reasons
from durak.v1 import match_service_pb2 as api
from durak.v1 import practice_service_pb2 as practice_api
from durak.v1 import rules_service_pb2 as rules_api
from durak.v1 import standings_service_pb2 as standings_api
from durak.v1 import wallet_service_pb2 as wallet_api
from durak.v1.settings_pb2 import BotLevel, Deck, Settings, ThrowIn
from durak.v1.table_pb2 import Move, Phase
from service.auth import SUBJECT
from service.errors import Refused
from service.localisation import LANGUAGES

CLIENT_SEED_LIMIT_BYTES = 64
PAGE_SIZE_LIMIT = 100
PAGE_TOKEN_LIMIT_CHARS = 512
PRESET_LIMIT_CHARS = 64
PUZZLE_ID_LIMIT_CHARS = 64
SEATS_LIMIT = 6
STAKE_LIMIT_COINS = 1_000_000_000
TURN_TIMER_LIMIT_SECONDS = 86_400

_EXAMPLE_UUID = "01234567-89ab-4cde-8f01-23456789abcd"
_CARDS = 52
_DECKS = frozenset(Deck.values())
_THROW_INS = frozenset(ThrowIn.values())
_BOT_LEVELS = frozenset(BotLevel.values()) - {0}
_PHASES = frozenset(Phase.values())


class Target(NamedTuple):
    """What a command acts on: the ids as 16 bytes, and the version that the caller insists on."""

    match_id: bytes
    request_id: bytes
    expected_version: int | None


_Targeted = (
    api.TakeSeatRequest
    | api.SeatBotRequest
    | api.LeaveMatchRequest
    | api.CancelTableRequest
    | api.PlayRequest
)


class Faults:
    """Collects the faulty fields of one request."""

    __slots__ = ("_found", "_prefix")

    def __init__(self, prefix: str = "") -> None:
        """Begin; `prefix` stands before every path, as in `play.`."""
        self._prefix = prefix
        self._found: list[FieldFault] | None = None

    def add(self, path: str, description: str) -> None:
        """Note a faulty field."""
        if self._found is None:
            self._found = []
        self._found.append(FieldFault(self._prefix + path, description))

    def uuid(self, path: str, text: str) -> bytes:
        """The 16 bytes of a UUID in its usual form: 8-4-4-4-12 hexadecimal digits, any case."""
        if len(text) == 36 and text[8] == text[13] == text[18] == text[23] == "-":
            try:
                parsed = bytes.fromhex(text.replace("-", ""))
            except ValueError:
                parsed = b""
            if len(parsed) == 16:
                return parsed
        self.add(path, f"must be a UUID, as in {_EXAMPLE_UUID}" if text else "is required")
        return b""

    def card(self, path: str, number: int) -> None:
        """A card of the deck, not CARD_UNSPECIFIED."""
        if not 1 <= number <= _CARDS:
            self.add(path, "must be a card" if number else "is required")

    def known(self, path: str, number: int, numbers: frozenset[int]) -> None:
        """One of the numbers of an enum."""
        if number not in numbers:
            self.add(path, "must be one of the named values" if number else "is required")

    def at_most(self, path: str, number: int, limit: int) -> None:
        """A number that is not too large."""
        if number > limit:
            self.add(path, f"must be at most {limit}")

    def length(self, path: str, value: str | bytes, limit: int) -> None:
        """A text (in characters) or bytes that are not too long."""
        if len(value) > limit:
            unit = "characters" if isinstance(value, str) else "bytes"
            self.add(path, f"must be at most {limit} {unit} long")

    def player(self, path: str, player_id: str) -> None:
        """What the `sub` of a token can be."""
        if not player_id:
            self.add(path, "is required")
        elif not SUBJECT.fullmatch(player_id):
            self.add(path, "must be up to 255 printable ASCII characters without spaces")

    def page(self, size: int, token: str) -> None:
        """`page_size`, and the length of `page_token`."""
        self.at_most("page_size", size, PAGE_SIZE_LIMIT)
        self.length("page_token", token, PAGE_TOKEN_LIMIT_CHARS)

    def check(self) -> None:
        """Raise Refused MALFORMED_FIELD if anything was noted."""
        if self._found is not None:
            raise Refused(Refusal(reasons.ERROR_REASON_MALFORMED_FIELD, fields=tuple(self._found)))


def open_table(request: api.OpenTableRequest, prefix: str = "") -> bytes:
    """The request id."""
    faults = Faults(prefix)
    request_id = faults.uuid("request_id", request.request_id)
    if request.HasField("settings"):
        _settings(faults, request.settings)
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
    faults.at_most("seat", request.seat, SEATS_LIMIT - 1)
    faults.length("client_seed", request.client_seed, CLIENT_SEED_LIMIT_BYTES)
    faults.check()
    return target


def seat_bot(request: api.SeatBotRequest, prefix: str = "") -> Target:
    """The target; `seat` and `level` are checked."""
    faults = Faults(prefix)
    target = _target(faults, request)
    faults.at_most("seat", request.seat, SEATS_LIMIT - 1)
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
    _move(faults, request.move)
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
    faults.length("client_seed", request.client_seed, CLIENT_SEED_LIMIT_BYTES)
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
    faults.check()
    return match_id


def list_matches(request: api.ListMatchesRequest) -> None:
    """Check `phase`, `page_size` and the length of `page_token`."""
    faults = Faults()
    faults.known("phase", request.phase, _PHASES)
    faults.page(request.page_size, request.page_token)
    faults.check()


def session_watch(request: api.SessionWatch) -> tuple[bytes, bytes]:
    """The request id and the match id."""
    faults = Faults("watch.")
    request_id = faults.uuid("request_id", request.request_id)
    match_id = faults.uuid("watch.match_id", request.watch.match_id)
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
        request.expected_version if request.HasField("expected_version") else None,
    )


def _move(faults: Faults, move: Move) -> None:
    match move.WhichOneof("kind"):
        case "attack":
            faults.card("move.attack.card", move.attack.card)
        case "defend":
            faults.card("move.defend.attack_card", move.defend.attack_card)
            faults.card("move.defend.card", move.defend.card)
        case "transfer":
            faults.card("move.transfer.card", move.transfer.card)
        case "challenge":
            if not move.challenge.play_version:
                faults.add("move.challenge.play_version", "is required")
        case None:
            faults.add("move", "is required: exactly one kind of move")


def _settings(faults: Faults, settings: Settings) -> None:
    """Numbers and lengths alone; what can be dealt, and what a preset locks, is for the domain."""
    faults.known("settings.deck", settings.deck, _DECKS)
    faults.at_most("settings.seats", settings.seats, SEATS_LIMIT)
    faults.known("settings.throw_in", settings.throw_in, _THROW_INS)
    faults.at_most(
        "settings.turn_timer_seconds", settings.turn_timer_seconds, TURN_TIMER_LIMIT_SECONDS
    )
    faults.at_most("settings.stake_coins", settings.stake_coins, STAKE_LIMIT_COINS)
    faults.length("settings.preset", settings.preset, PRESET_LIMIT_CHARS)


def list_transfers(request: wallet_api.ListTransfersRequest) -> None:
    """Check `page_size` and the length of `page_token`."""
    faults = Faults()
    faults.page(request.page_size, request.page_token)
    faults.check()


def grant_coins(request: wallet_api.GrantCoinsRequest, limit_coins: int) -> bytes:
    """The request id; `player_id` and `coins` are checked."""
    faults = Faults()
    request_id = faults.uuid("request_id", request.request_id)
    faults.player("player_id", request.player_id)
    if request.coins:
        faults.at_most("coins", request.coins, limit_coins)
    else:
        faults.add("coins", "is required")
    faults.check()
    return request_id


def get_series(request: standings_api.GetSeriesRequest) -> bytes:
    """The series id."""
    faults = Faults()
    series_id = faults.uuid("series_id", request.series_id)
    faults.check()
    return series_id


def get_rating(request: standings_api.GetRatingRequest) -> None:
    """Check `player_id`; empty is the caller."""
    faults = Faults()
    if request.player_id:
        faults.player("player_id", request.player_id)
    faults.check()


def list_ratings(request: standings_api.ListRatingsRequest) -> None:
    """Check `page_size` and the length of `page_token`."""
    faults = Faults()
    faults.page(request.page_size, request.page_token)
    faults.check()


def list_presets(request: rules_api.ListPresetsRequest) -> None:
    """Check `language`."""
    faults = Faults()
    _language(faults, request.language)
    faults.check()


def get_rule_sheet(request: rules_api.GetRuleSheetRequest) -> None:
    """Check `settings` and `language`; unlike that of a new table, the series may be set."""
    faults = Faults()
    _language(faults, request.language)
    if request.HasField("settings"):
        settings = request.settings
        if settings.series_id:
            faults.uuid("settings.series_id", settings.series_id)
        _settings(faults, settings)
    else:
        faults.add("settings", "is required")
    faults.check()


def list_puzzles(request: practice_api.ListPuzzlesRequest) -> None:
    """Check `language`, `page_size` and the length of `page_token`."""
    faults = Faults()
    _language(faults, request.language)
    faults.page(request.page_size, request.page_token)
    faults.check()


def get_puzzle(request: practice_api.GetPuzzleRequest) -> None:
    """Check `puzzle_id` and `language`."""
    faults = Faults()
    _language(faults, request.language)
    _puzzle_id(faults, request.puzzle_id)
    faults.check()


def try_move(request: practice_api.TryMoveRequest) -> None:
    """Check `puzzle_id` and `language`, and that the choice is one, with cards that exist."""
    faults = Faults()
    _language(faults, request.language)
    _puzzle_id(faults, request.puzzle_id)
    match request.WhichOneof("choice"):
        case "move":
            _move(faults, request.move)
        case None:
            faults.add("choice", "is required: a move, or to wait")
    faults.check()


def _language(faults: Faults, language: str) -> None:
    if language and language not in LANGUAGES:
        faults.add("language", f"must be one of {', '.join(LANGUAGES)}, or empty")


def _puzzle_id(faults: Faults, puzzle_id: str) -> None:
    if puzzle_id:
        faults.length("puzzle_id", puzzle_id, PUZZLE_ID_LIMIT_CHARS)
    else:
        faults.add("puzzle_id", "is required")
