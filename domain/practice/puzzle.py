"""Puzzles: what their data files hold, and the match that each is played on."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from domain.cards import SUIT_SYMBOLS, CardMask, mask_of
from domain.endgame import EndgameMove, Position
from domain.endgame.conversion import position_from_match
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.refusal import Refusal
from domain.match.seating import open_table
from domain.practice.deal_reconstruction import Bout, reconstruct_deal
from domain.practice.notation import CARD_NAMED, parse_move, to_move_message
from durak.v1.events_pb2 import Event, Record, SeatTaken
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from durak.v1.table_pb2 import AttackMove, DefendMove, Move, TakeMove

PLAYER: Final = 0
OPPONENT: Final = 1
TEXTS: Final = ("title", "question", "right")
DIFFICULTY_MAX: Final = 5
_NAMESPACE: Final = uuid.UUID("5f0c8a52-4b5e-5a0e-9d5c-7a4d1f3b2c10")
_SEATS: Final = MappingProxyType({"you": PLAYER, "opponent": OPPONENT})
# The deal of a practice match is made for its puzzle, so no seed stands behind it.
_SERVER_SEED: Final = bytes(32)
_IDLE_LIMIT_SECONDS: Final = 86_400


class PuzzleError(ValueError):
    """A puzzle's data do not make a puzzle; the text says what to mend."""


@dataclass(frozen=True, slots=True)
class Puzzle:
    """A puzzle. Hands are those when you have to choose; `bout` is what was played before in it.

    `right` are the moves that keep the best result there is. `texts` are, by language, a title, a
    question, and what is said of a right choice and, where there is one, of a wrong choice.
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


@dataclass(frozen=True, slots=True)
class PuzzleMatch:
    """A puzzle's match where you have to choose, and the same for the solver."""

    match: Match
    position: Position


def parse_puzzle(puzzle_id: str, data: Mapping[str, Any]) -> Puzzle:
    """A puzzle from its plain data, as docs/practice-and-rules.md describes them.

    Raises PuzzleError.
    """
    known = {"difficulty", "deck", "trump", "transfer", "draw_allowed"}
    known |= {"you", "opponent", "bout", "right", "texts"}
    if unknown := set(data) - known:
        raise PuzzleError(f"{puzzle_id}: unknown keys {sorted(unknown)}")
    try:
        puzzle = Puzzle(
            id=puzzle_id,
            difficulty=data["difficulty"],
            deck=data.get("deck", 36),
            trump_suit=SUIT_SYMBOLS.index(data["trump"]),
            transfer=data.get("transfer", False),
            draw_allowed=data.get("draw_allowed", True),
            hands=(_hand(data["you"]), _hand(data["opponent"])),
            bout=tuple(_play(text) for text in data.get("bout", ())),
            right=frozenset(parse_move(text) for text in data["right"]),
            texts=data["texts"],
        )
    except (KeyError, ValueError) as error:
        raise PuzzleError(f"{puzzle_id}: {error!r}") from error
    if not 1 <= puzzle.difficulty <= DIFFICULTY_MAX or not puzzle.right:
        raise PuzzleError(f"{puzzle_id}: a difficulty from 1 to 5, and a right choice")
    for language, texts in puzzle.texts.items():
        if set(texts) - {"wrong"} != set(TEXTS) or not all(texts.values()):
            raise PuzzleError(f"{puzzle_id}: the texts in {language} are {', '.join(TEXTS)}, wrong")
    return puzzle


def _hand(text: str) -> CardMask:
    return mask_of(CARD_NAMED[word] for word in text.split())


def _play(text: str) -> tuple[int, EndgameMove]:
    who, _, move = text.partition(": ")
    return _SEATS[who], parse_move(move)


def start_puzzle(puzzle: Puzzle) -> PuzzleMatch:
    """Fold the puzzle's match from its deal up to the choice. Raises PuzzleError."""
    hands = list(puzzle.hands)
    for seat, move in puzzle.bout:
        hands[seat] |= move.card
    leader = puzzle.bout[0][0] if puzzle.bout else PLAYER
    try:
        past = reconstruct_deal(hands, leader, puzzle.trump_suit, puzzle.deck)
    except ValueError as error:
        raise PuzzleError(f"{puzzle.id}: {error}") from error
    match = _seated(puzzle)
    append_events(match, [Event(dealt=past.dealt)])
    for bout in past.bouts:
        _play_bout(match, bout)
    for seat, move in puzzle.bout:
        wanted = to_move_message(move)
        if wanted is not None:
            play_move(match, seat, wanted)
    if tuple(match.hands) != puzzle.hands or match.stock or match.result is not None:
        raise PuzzleError(f"{puzzle.id}: the bout does not lead to this position")
    return PuzzleMatch(match, position_from_match(match, PLAYER))


def append_events(match: Match, events: list[Event]) -> list[Record]:
    """Fold events into a practice match as records, and give these; they have no time."""
    records = []
    for event in events:
        record = Record(match_id=match.match_id, version=match.version + 1, event=event)
        match.apply(record)
        records.append(record)
    return records


def play_move(match: Match, seat: int, move: Move) -> list[Record]:
    """Make a move that must be legal."""
    events = decide(match, seat, move)
    if isinstance(events, Refusal):
        raise PuzzleError(f"seat {seat} cannot play {move}: {events.clause}")
    return append_events(match, events)


def _seated(puzzle: Puzzle) -> Match:
    """The puzzle's match with both seats taken."""
    match_id = uuid.uuid5(_NAMESPACE, puzzle.id).bytes
    settings = Settings(
        deck=Deck.ValueType(puzzle.deck),
        seats=2,
        throw_in=ThrowIn.THROW_IN_ALL,
        transfer=puzzle.transfer,
        draw_allowed=puzzle.draw_allowed,
    )
    opened = open_table(
        settings,
        start_series=False,
        match_id=match_id,
        owner_id="you",
        server_seed=_SERVER_SEED,
        idle_limit_seconds=_IDLE_LIMIT_SECONDS,
    )
    if isinstance(opened, Refusal):
        raise PuzzleError(f"{puzzle.id}: a deck of {puzzle.deck} cards")
    match = Match()
    match.apply(Record(match_id=match_id, version=1, event=opened[0]))
    for who, seat in _SEATS.items():
        append_events(
            match, [Event(seat_taken=SeatTaken(seat=seat, player_id=who, display_name=who))]
        )
    return match


def _play_bout(match: Match, bout: Bout) -> None:
    play_move(match, bout.attacker, Move(attack=AttackMove(card=bout.card)))
    answer = (
        Move(take=TakeMove())
        if bout.beater is None
        else Move(defend=DefendMove(attack_card=bout.card, card=bout.beater))
    )
    play_move(match, match.defender, answer)
    if match.attacks:  # the attacker may still throw in
        play_move(match, bout.attacker, _PASS)


_PASS: Final = to_move_message(parse_move("pass")) or Move()
