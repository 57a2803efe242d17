"""Puzzles, and the match on which each is played."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from domain.cards import CardMask
from domain.endgame import EndgameMove, Position, Value
from domain.endgame.conversion import position_from_match, to_move_message
from domain.match import move_messages
from domain.match.commands import OpenTable, Play, by_bot, by_player
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.refusal import Refusal
from domain.practice.deal_reconstruction import Bout, reconstruct_deal
from durak.v1.events_pb2 import Event, Record, SeatTaken
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from durak.v1.table_pb2 import Move

PLAYER: Final = 0
OPPONENT: Final = 1
SEATS: Final = MappingProxyType({"you": PLAYER, "opponent": OPPONENT})
_NAMESPACE: Final = uuid.UUID("5f0c8a52-4b5e-5a0e-9d5c-7a4d1f3b2c10")
# The deal of a practice match is constructed for its puzzle, so its seed has no meaning.
_SERVER_SEED: Final = bytes(32)
_LIMIT_SECONDS: Final = 86_400


class PuzzleError(ValueError):
    """The data of a puzzle are invalid. The text says what to fix."""


class MinedAnswer(NamedTuple):
    """The answer of a puzzle from a match: one right move, which alone keeps the result.

    Attributes:
        result: the result that it keeps: WIN or DRAW.
        mistake: a wrong move that was played in a match, or that a bot would play.
    """

    result: Value
    mistake: EndgameMove


@dataclass(frozen=True, slots=True)
class Puzzle:
    """A puzzle: one choice in a two-seat endgame.

    Attributes:
        id: the name of its file, or of its table in a file of mined puzzles.
        difficulty: 1 to 5.
        deck: the number of cards: 24, 36 or 52.
        trump_suit: 0 to 3.
        transfer: transfers are allowed.
        draw_allowed: draws are allowed.
        hands: the hands at the moment of the choice, by seat.
        bout: the moves already made in the current bout, as (seat, move).
        right: the moves that keep the best possible result.
        texts: by language: the title, the question, the comment on a right choice, and the comment
            on a wrong choice if there is one. Empty for a mined puzzle, whose texts are generated.
        mined: what the generated texts say. None for a puzzle with texts of its own.
    """

    id: str
    difficulty: int
    deck: int
    trump_suit: int
    transfer: bool
    draw_allowed: bool
    hands: tuple[CardMask, CardMask]
    bout: tuple[tuple[int, EndgameMove], ...]
    right: frozenset[EndgameMove]
    texts: Mapping[str, Mapping[str, str]]
    mined: MinedAnswer | None = None


@dataclass(frozen=True, slots=True)
class PuzzleMatch:
    """The match of a puzzle at the moment of the choice, and the same position for the solver."""

    match: Match
    position: Position


def start_puzzle(puzzle: Puzzle) -> PuzzleMatch:
    """Play the match of a puzzle from the deal up to the choice. Raises PuzzleError."""
    hands = list(puzzle.hands)
    for seat, move in puzzle.bout:
        hands[seat] |= move.card
    leader = puzzle.bout[0][0] if puzzle.bout else PLAYER
    try:
        start = reconstruct_deal(hands, leader, puzzle.trump_suit, puzzle.deck)
    except ValueError as error:
        raise PuzzleError(f"{puzzle.id}: {error}") from error
    match = _seated(puzzle)
    append_events(match, [Event(dealt=start.dealt)])
    for bout in start.bouts:
        _play_bout(match, bout)
    for seat, move in puzzle.bout:
        wanted = to_move_message(move)
        if wanted is not None:
            play_move(match, seat, wanted)
    if tuple(match.hands) != puzzle.hands or match.stock or match.result is not None:
        raise PuzzleError(f"{puzzle.id}: the bout does not lead to this position")
    try:
        return PuzzleMatch(match, position_from_match(match, PLAYER))
    except ValueError as error:
        raise PuzzleError(f"{puzzle.id}: {error}") from error


def append_events(match: Match, events: list[Event]) -> list[Record]:
    """Apply events to a practice match and return their records, which have no time."""
    records = []
    for event in events:
        record = Record(match_id=match.match_id, version=match.version + 1, event=event)
        match.apply(record)
        records.append(record)
    return records


def play_move(match: Match, seat: int, move: Move) -> list[Record]:
    """Make a move and return its records. Raises PuzzleError if the move is not legal."""
    outcome = decide(match, by_bot(seat), Play(move))
    if isinstance(outcome, Refusal):
        raise PuzzleError(f"seat {seat} cannot play {move}: {outcome.clause}")
    return append_events(match, outcome.events)


def _seated(puzzle: Puzzle) -> Match:
    """Return the match of a puzzle with both seats taken."""
    match = Match(uuid.uuid5(_NAMESPACE, puzzle.id).bytes)
    settings = Settings(
        deck=Deck.ValueType(puzzle.deck),
        seats=2,
        throw_in=ThrowIn.THROW_IN_ALL,
        transfer=puzzle.transfer,
        draw_allowed=puzzle.draw_allowed,
    )
    opening = OpenTable(settings, _SERVER_SEED, _LIMIT_SECONDS, _LIMIT_SECONDS)
    opened = decide(match, by_player("you"), opening)
    if isinstance(opened, Refusal):
        raise PuzzleError(f"{puzzle.id}: {puzzle.deck} is not a deck size")
    append_events(match, opened.events)
    for name, seat in SEATS.items():
        append_events(
            match, [Event(seat_taken=SeatTaken(seat=seat, player_id=name, display_name=name))]
        )
    return match


def _play_bout(match: Match, bout: Bout) -> None:
    play_move(match, bout.attacker, move_messages.attack(bout.card))
    if bout.beater is None:
        play_move(match, match.defender, move_messages.take())
    else:
        play_move(match, match.defender, move_messages.defend(bout.card, bout.beater))
    if match.attacks:  # the attacker may still throw in
        play_move(match, bout.attacker, move_messages.pass_turn())
