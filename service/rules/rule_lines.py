"""Select the lines of a rule sheet for the settings of a table, with the clause of each line.

The lines are keys of locale/*/rules.ftl. A line is left out if it cannot apply at the table: no
transfer at a podkidnoy table, no shared places with two seats, no lot for the first attack if some
seat always has a trump.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from domain.match.deal import HAND_SIZE
from domain.match.payouts import MatchResult, bank_shares
from durak.v1.events_pb2 import Outcome
from durak.v1.settings_pb2 import Settings, ThrowIn

_NO_ARGUMENTS: Mapping[str, "Argument"] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Seconds:
    """A duration, written in words."""

    count: int


@dataclass(frozen=True, slots=True)
class Shares:
    """Coins by place, from the first place on, written in words."""

    coins: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """Another text, by its key."""

    key: str


Argument = int | str | Seconds | Shares | Text


class Line(NamedTuple):
    """A line: the key of its text, its clauses, the variables of the text."""

    key: str
    clauses: tuple[str, ...]
    arguments: Mapping[str, Argument] = _NO_ARGUMENTS


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a sheet. `ordered` lines are steps."""

    id: str
    lines: Callable[["Facts"], Iterator[Line]]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """The input of the lines: complete settings, and the idle limit of the service (R10.8)."""

    settings: Settings
    idle_limit_seconds: int
    stock: int = field(init=False)
    """Cards in the stock after the deal, the trump card included."""

    def __post_init__(self) -> None:
        stock = self.settings.deck - HAND_SIZE * self.settings.seats
        object.__setattr__(self, "stock", stock)

    @property
    def is_duel(self) -> bool:
        """True with two seats."""
        return self.settings.seats == 2

    @property
    def a_trump_is_dealt(self) -> bool:
        """True if the stock cannot hold all trumps, so some seat always has one (R3.4)."""
        return self.settings.deck // 4 > self.stock

    def by_seats(self, key: str) -> str:
        """Return the key of a text that differs for two seats and for more."""
        return f"{key}-two" if self.is_duel else f"{key}-many"


def preset_key(name: str) -> str:
    """Return the key of the title of a preset. The key of its description ends in `-about`."""
    return f"preset-{name.replace('.', '-')}"


def variant(facts: Facts) -> Iterator[Line]:
    """Yield the parts of the short description of a table, without the version of the rules."""
    settings = facts.settings
    yield Line("variant-deck", ("R1.2",), {"deck": settings.deck})
    yield Line("variant-seats", ("R2.1",), {"seats": settings.seats})
    yield Line("variant-perevodnoy" if settings.transfer else "variant-podkidnoy", ("R6",))
    if not facts.is_duel:
        is_all = settings.throw_in == ThrowIn.THROW_IN_ALL
        yield Line("variant-all" if is_all else "variant-neighbours", ("R5.2",))
    yield Line("variant-draw" if settings.draw_allowed else "variant-no-draw", ("R9.4",))
    if settings.five_card_opening:
        yield Line("variant-five", ("R4.3",))
    if settings.tricky:
        yield Line("variant-tricky", ("R11",))
    if settings.turn_timer_seconds:
        yield Line("variant-timer", ("R10",), {"time": Seconds(settings.turn_timer_seconds)})
    if settings.stake_coins:
        yield Line("variant-stake", ("R12",), {"coins": settings.stake_coins})


def _goal(_facts: Facts) -> Iterator[Line]:
    yield Line("goal", ("R9.3",))


def _setup(facts: Facts) -> Iterator[Line]:
    settings = facts.settings
    deck = {"seats": settings.seats, "deck": settings.deck}
    yield Line("setup-deck", ("R1.1", "R1.2", "R2.1"), deck)
    if facts.stock:
        yield Line("setup-deal-stock", ("R3.1", "R3.2"), {"stock": facts.stock})
    else:
        yield Line("setup-deal-all", ("R3.1", "R3.3"))
    yield Line("setup-first" if facts.a_trump_is_dealt else "setup-first-lot", ("R3.4",))
    yield Line("setup-secrets", ("R3.6", "R10.9"))
    yield Line("setup-fair", ("R3.1", "R3.5"))


def _flow(facts: Facts) -> Iterator[Line]:
    settings = facts.settings
    yield Line(facts.by_seats("flow-lead"), ("R4.1",))
    if settings.transfer:
        yield Line("flow-answer-transfer", ("R4.2", "R6.1", "R7.2"))
    else:
        yield Line("flow-answer", ("R4.2", "R7.2"))
    is_all = settings.throw_in == ThrowIn.THROW_IN_ALL
    circle = "two" if facts.is_duel else "all" if is_all else "neighbours"
    yield Line(f"flow-throw-{circle}", ("R5.1", "R5.2"))
    opening = "-opening" if settings.five_card_opening else ""
    yield Line(f"flow-cap{opening}", ("R4.3", "R4.4"))
    yield Line(facts.by_seats("flow-beaten"), ("R7.1",))
    yield Line(facts.by_seats("flow-taken"), ("R7.2",))
    draw = facts.by_seats("flow-draw") if facts.stock else "flow-draw-none"
    yield Line(draw, ("R8.1", "R8.2"))


def _moves(facts: Facts) -> Iterator[Line]:
    settings = facts.settings
    yield Line("moves-suit", ("R1.3",))
    yield Line("moves-trump", ("R1.3",), {"deck": settings.deck})
    yield Line("moves-trump-only", ("R1.3",))
    yield Line("moves-throw", ("R5.1",))
    if settings.transfer:
        yield Line("moves-transfer", ("R6.1", "R6.4"))
        yield Line(facts.by_seats("moves-transfer"), ("R6.3",))
        opening = "-opening" if settings.five_card_opening else ""
        yield Line(f"moves-transfer-room{opening}", ("R6.2",))
    yield Line("moves-pass", ("R5.3",))
    if not settings.tricky:
        yield Line("moves-close", ("R7.3",))


def _scoring(facts: Facts) -> Iterator[Line]:
    settings = facts.settings
    yield Line(facts.by_seats("scoring-places"), ("R9.2",))
    if not facts.is_duel:
        yield Line("scoring-shared", ("R9.2",))
    if settings.stake_coins:
        yield from _stakes(facts)
    else:
        yield Line("scoring-free", ("R2", "R12"))
    yield Line("scoring-series-this" if settings.series_id else "scoring-series", ("R13.1",))
    yield Line("scoring-rating", ("R13.2",))


def _stakes(facts: Facts) -> Iterator[Line]:
    stake = facts.settings.stake_coins
    coins = {"coins": stake, "bank": stake * facts.settings.seats}
    yield Line("scoring-stake", ("R12.2",), coins)
    if facts.is_duel:
        yield Line("scoring-bank-two", ("R12.3",))
    else:
        shares = shares_by_place(stake, facts.settings.seats)
        yield Line("scoring-bank-many", ("R12.3",), {"shares": Shares(shares)})
        yield Line("scoring-bank-shared", ("R12.4",))
    yield Line("scoring-back", ("R12.5",))
    yield Line(facts.by_seats("scoring-leaver"), ("R12.6",))
    yield Line("scoring-coins", ("R12.1",))


def shares_by_place(stake: int, seats: int) -> tuple[int, ...]:
    """Return the coins of places 1 ... seats - 1 if no place is shared (R12.3)."""
    durak = seats - 1
    result = MatchResult(Outcome.OUTCOME_PLAYED_OUT, durak)
    places = [(seat + 1, seat) for seat in range(durak)]
    shares = bank_shares(stake, range(seats), result, places)
    return tuple(shares[seat] for seat in range(durak))


def _end(facts: Facts) -> Iterator[Line]:
    yield Line("end-stock" if facts.stock else "end-stock-none", ("R8.1", "R9.1"))
    yield Line("end-out", ("R9.1",))
    yield Line(facts.by_seats("end-durak"), ("R9.3",))
    if facts.settings.draw_allowed:
        yield Line(facts.by_seats("end-draw"), ("R9.4",))
    else:
        yield Line("end-no-draw", ("R9.4",))
    yield Line("end-fifty", ("R9.5",))
    if not facts.is_duel:
        yield Line("end-next", ("R7.4",))


def _special(facts: Facts) -> Iterator[Line]:
    yield Line("special-empty", ("R9.1",))
    yield Line("special-takes", ("R7.2",))
    if facts.settings.transfer:
        yield Line("special-last-transfer", ("R6.3", "R9.1"))
    yield Line("special-not-draw", ("R9.6",))
    yield Line("special-house", ("R2",))


def _locked(facts: Facts) -> Iterator[Line]:
    settings = facts.settings
    yield Line("locked-decks", ("R1.2",), {"deck": settings.deck})
    if not settings.transfer:
        yield Line("locked-transfer", ("R6",))
    if settings.throw_in == ThrowIn.THROW_IN_NEIGHBOURS and settings.seats > 3:
        yield Line("locked-neighbours", ("R5.2",))
    if not settings.draw_allowed:
        yield Line("locked-draw", ("R9.4",))
    if not settings.five_card_opening:
        yield Line("locked-five", ("R4.3",))
    if not settings.tricky:
        yield Line("locked-tricky", ("R11",))
    yield Line("locked-jokers", ("R1.1", "R3.5"))
    if settings.preset:
        preset = Text(preset_key(settings.preset))
        yield Line("locked-preset", ("R2.2",), {"preset": preset})


def _time(facts: Facts) -> Iterator[Line]:
    settings = facts.settings
    idle = {"idle": Seconds(facts.idle_limit_seconds)}
    if settings.turn_timer_seconds:
        yield Line("time-turn", ("R10.1",), {"time": Seconds(settings.turn_timer_seconds)})
        yield Line("time-acts", ("R10.2",))
        yield Line("time-three", ("R10.3",))
        yield Line("time-restart", ("R10.5",))
    else:
        yield Line("time-none", ("R10.8",), idle)
    if settings.tricky:
        yield Line("time-tricky", ("R10.7",))
    yield Line("time-fill", ("R10.8",), idle)
    yield Line("time-connection", ("R10.6",))
    yield Line("time-before", ("R3.0",))
    yield Line("time-leave", ("R10.4", "R10.6"))


def _tricky(facts: Facts) -> Iterator[Line]:
    settings = facts.settings
    if not settings.tricky:
        return
    yield Line("tricky-plays-transfer" if settings.transfer else "tricky-plays", ("R11.1",))
    yield Line("tricky-silent", ("R11.2",))
    yield Line(facts.by_seats("tricky-challenge"), ("R11.3",))
    yield Line("tricky-verdict", ("R11.4",))
    if settings.five_card_opening:
        yield Line("tricky-verdict-opening", ("R11.4", "R4.3"))
    yield Line(facts.by_seats("tricky-close"), ("R11.5", "R7.3"))
    yield Line("tricky-stands", ("R11.6",))


def _bots(facts: Facts) -> Iterator[Line]:
    if facts.settings.stake_coins:
        yield Line("bots-none", ("R12.7",))
        return
    yield Line("bots-sees", ("R14.1",))
    yield Line("bots-easy", ("R14.2",))
    yield Line("bots-normal", ("R14.3",))
    yield Line(facts.by_seats("bots-hard"), ("R14.4",))
    if facts.settings.tricky:
        yield Line("bots-tricky", ("R14.5",))


SECTIONS: Final = (
    Section("goal", _goal),
    Section("setup", _setup, ordered=True),
    Section("flow", _flow, ordered=True),
    Section("moves", _moves),
    Section("scoring", _scoring),
    Section("end", _end),
    Section("special", _special),
    Section("locked", _locked),
    Section("time", _time),
    Section("tricky", _tricky),
    Section("bots", _bots),
)
"""The sections of a sheet in order. A section without lines is left out."""
