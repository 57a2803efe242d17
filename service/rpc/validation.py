"""Checks of the fields of requests. They are written by hand, because they run on every call.

The `requests` module of each feature checks whole requests with them: it returns the parsed ids, or
raises Refused MALFORMED_FIELD with the path of every faulty field. A checked request is
well-formed: enums have numbers of the contract, cards exist, texts and bytes are within their
limits. The domain decides whether it makes sense. On a session the paths begin with the name of the
request.
"""

from typing import Literal, NamedTuple, Protocol

from domain.match.refusal import FieldFault, Refusal
from durak.v1 import errors_pb2 as reasons
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from durak.v1.table_pb2 import Move
from service.rpc.authentication import SUBJECT
from service.rpc.errors import Refused
from service.text.localisation import LANGUAGES

FAULTS_MAX = 20
"""The faulty fields that a refusal names. Clients and proxies limit the size of trailers."""
PAGE_SIZE_DEFAULT = 20
PAGE_SIZE_MAX = 100
PAGE_TOKEN_CHARS_MAX = 512
PRESET_CHARS_MAX = 64
REASON_CHARS_MAX = 2_000
SEATS_MAX = 6
STAKE_COINS_MAX = 1_000_000_000
TURN_TIMER_SECONDS_MAX = 86_400

_EXAMPLE_UUID = "01234567-89ab-4cde-8f01-23456789abcd"
_CARDS = 52
_DECKS = frozenset(Deck.values())
_THROW_INS = frozenset(ThrowIn.values())


class _Versioned(Protocol):
    """A request with an optional `expected_version`."""

    @property
    def expected_version(self) -> int: ...

    def HasField(self, name: Literal["expected_version"], /) -> bool: ...


class _Paged(Protocol):
    """A request for one page of a list."""

    @property
    def page_size(self) -> int: ...

    @property
    def page_token(self) -> str: ...


class Target(NamedTuple):
    """The target of a command: its ids (16 bytes each), and the version that the caller expects."""

    match_id: bytes
    request_id: bytes
    expected_version: int | None


class Faults:
    """Collects the faulty fields of one request."""

    __slots__ = ("_found", "_omitted", "_prefix")

    def __init__(self, prefix: str = "") -> None:
        """Start without faults. `prefix` begins every path, as in `play.`."""
        self._prefix = prefix
        self._found: list[FieldFault] | None = None
        self._omitted = 0

    def add(self, path: str, description: str) -> None:
        """Note a faulty field. Beyond FAULTS_MAX only the number of faults is noted."""
        if self._found is None:
            self._found = []
        if len(self._found) == FAULTS_MAX:
            self._omitted += 1
        else:
            self._found.append(FieldFault(self._prefix + path, description))

    def uuid(self, path: str, text: str) -> bytes:
        """Return the 16 bytes of a UUID, written as 8-4-4-4-12 hexadecimal digits in any case."""
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
        """Check that a number is a card, and not CARD_UNSPECIFIED."""
        if not 1 <= number <= _CARDS:
            self.add(path, "must be a card" if number else "is required")

    def known(self, path: str, number: int, numbers: frozenset[int]) -> None:
        """Check that a number is one of the numbers of an enum."""
        if number not in numbers:
            self.add(path, "must be one of the named values" if number else "is required")

    def at_most(self, path: str, number: int, limit: int) -> None:
        """Check that a number is from 0 to `limit`."""
        if number > limit:
            self.add(path, f"must be at most {limit}")
        self.not_negative(path, number)

    def not_negative(self, path: str, number: int) -> None:
        """Check that a number is 0 or more."""
        if number < 0:
            self.add(path, "must not be negative")

    def version(self, path: str, number: int) -> None:
        """Check that a number is the version of an event, from 1."""
        if number < 1:
            self.add(path, "must be at least 1" if number else "is required")

    def expected_version(self, request: _Versioned) -> int | None:
        """Return `expected_version`, or None if it is not set."""
        if not request.HasField("expected_version"):
            return None
        self.not_negative("expected_version", request.expected_version)
        return request.expected_version

    def length(self, path: str, value: str | bytes, limit: int) -> None:
        """Check that a text has at most `limit` characters, or bytes at most `limit` bytes."""
        if len(value) > limit:
            unit = "characters" if isinstance(value, str) else "bytes"
            self.add(path, f"must be at most {limit} {unit} long")

    def reason(self, path: str, reason: str) -> None:
        """Check that a reason is given, and that it is not too long."""
        if not reason.strip():
            self.add(path, "is required")
        self.length(path, reason, REASON_CHARS_MAX)

    def player(self, path: str, player_id: str) -> None:
        """Check that an id can be the `sub` of a token."""
        if not player_id:
            self.add(path, "is required")
        elif not SUBJECT.fullmatch(player_id):
            self.add(path, "must be up to 255 printable ASCII characters without spaces")

    def page(
        self,
        request: _Paged,
        *,
        default: int = PAGE_SIZE_DEFAULT,
        limit: int = PAGE_SIZE_MAX,
    ) -> int:
        """Check `page_size` and `page_token`; return how many rows the page has at most.

        A larger `page_size` than `limit` means `limit` (AIP-158).
        """
        self.not_negative("page_size", request.page_size)
        self.length("page_token", request.page_token, PAGE_TOKEN_CHARS_MAX)
        return min(request.page_size or default, limit)

    def check(self) -> None:
        """Raise Refused MALFORMED_FIELD if there is a fault."""
        if self._found is None:
            return
        if self._omitted:
            last = self._found.pop()
            more = f"{last.description}; {self._omitted} more faults are left out"
            self._found.append(FieldFault(last.path, more))
        raise Refused(Refusal(reasons.ERROR_REASON_MALFORMED_FIELD, fields=tuple(self._found)))


def check_move(faults: Faults, move: Move) -> None:
    """Check that a move has exactly one kind and cards that exist."""
    match move.WhichOneof("kind"):
        case "attack":
            faults.card("move.attack.card", move.attack.card)
        case "defend":
            faults.card("move.defend.attack_card", move.defend.attack_card)
            faults.card("move.defend.card", move.defend.card)
        case "transfer":
            faults.card("move.transfer.card", move.transfer.card)
        case "challenge":
            faults.version("move.challenge.play_version", move.challenge.play_version)
        case None:
            faults.add("move", "is required: exactly one kind of move")


def check_settings(faults: Faults, settings: Settings) -> None:
    """Check numbers and lengths. The domain checks the deal (R2.1) and the preset (R2.2)."""
    faults.known("settings.deck", settings.deck, _DECKS)
    faults.at_most("settings.seats", settings.seats, SEATS_MAX)
    faults.known("settings.throw_in", settings.throw_in, _THROW_INS)
    faults.at_most(
        "settings.turn_timer_seconds", settings.turn_timer_seconds, TURN_TIMER_SECONDS_MAX
    )
    faults.at_most("settings.stake_coins", settings.stake_coins, STAKE_COINS_MAX)
    faults.length("settings.preset", settings.preset, PRESET_CHARS_MAX)


def check_language(faults: Faults, language: str) -> None:
    """Check that a language is one of LANGUAGES, or empty."""
    if language and language not in LANGUAGES:
        faults.add("language", f"must be one of {', '.join(LANGUAGES)}, or empty")
