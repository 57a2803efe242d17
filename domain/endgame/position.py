"""An endgame position: two seats in play, empty stock, both hands known (RULES R4–R9).

Cards are bits: card number = 1 + 13·suit + (rank − 2) with suits clubs, diamonds, hearts, spades,
and the card's bit is ``1 << (number − 1)``. A set of cards is the sum of its bits, the same masks
that the match itself folds. The deck (24, 36 or 52) needs no field: only the cards still in play
matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

BOUTS_WITHOUT_DISCARD_MAX = 50
"""R9.5: so many bouts in a row without a discard are a draw."""

SUIT = (1 << 13) - 1
ALL_CARDS = (1 << 52) - 1
RANK = 1 | 1 << 13 | 1 << 26 | 1 << 39


class Role(IntEnum):
    """Part that a seat plays in the running bout."""

    ATTACKER = 0
    DEFENDER = 1


class MoveKind(IntEnum):
    """Moves of the match, and WAIT: the attacker leaves the next move to the defender."""

    ATTACK = 1
    DEFEND = 2
    TRANSFER = 3
    TAKE = 4
    PASS = 5
    WAIT = 6


class EndgameMove(NamedTuple):
    """One move; ``card`` and ``target`` (the attack card that a DEFEND beats) are cards' bits."""

    kind: MoveKind
    card: int = 0
    target: int = 0


class EndgameResult(NamedTuple):
    """The match is over: the seat that won, or None for a draw."""

    winner: int | None


@dataclass(frozen=True, slots=True)
class Position:
    """Everything that decides an endgame.

    ``beaten`` holds the attack cards that are beaten and the cards that beat them. The cap of R4.3
    and R6.2 needs no field: the defender's hand when they became the defender is their hand now and
    one card for each beaten attack card. ``five_card_limit``: the five-card opening is on and no
    defence has succeeded yet. ``quiet_bouts``: bouts in a row that ended without a discard (R9.5).
    ``turn``: whose move is asked for. While unbeaten cards lie there and nobody has taken, either
    seat may move (R5.1); everywhere else the turn follows from the table.

    Raises ValueError for a position that no bout can reach, or that R7.3 or R9 has already closed.
    """

    attacker_hand: int
    defender_hand: int
    trump_suit: int
    unbeaten: int = 0
    beaten: int = 0
    taking: bool = False
    turn: Role = Role.ATTACKER
    transfer: bool = False
    draw_allowed: bool = True
    five_card_limit: bool = False
    quiet_bouts: int = 0
    attacker_seat: int = 0
    defender_seat: int = 1

    def __post_init__(self) -> None:
        parts = (self.attacker_hand, self.defender_hand, self.unbeaten, self.beaten)
        cards = self.attacker_hand | self.defender_hand | self.unbeaten | self.beaten
        if (
            any(part < 0 for part in parts)
            or cards > ALL_CARDS
            or cards.bit_count() != sum(p.bit_count() for p in parts)
        ):
            raise ValueError("each card lies in one place, as a bit of 1 << 0 to 1 << 51")
        if not 0 <= self.trump_suit <= 3 or not 0 <= self.quiet_bouts < BOUTS_WITHOUT_DISCARD_MAX:
            raise ValueError("trump_suit is 0 to 3 and quiet_bouts 0 to 49")
        if self.attacker_seat == self.defender_seat:
            raise ValueError("attacker and defender are different seats")
        if self.beaten.bit_count() % 2 or self.attack_cards_allowed() < 0:
            raise ValueError("beaten cards come in pairs, and the attack keeps to its cap (R4.3)")
        if self.turn is Role.DEFENDER and (self.taking or not self.unbeaten):
            raise ValueError("the defender moves while there is something to beat (R4.2, R7.2)")
        if self.taking and not self.unbeaten:
            raise ValueError("who takes leaves an attack card unbeaten (R7.2)")
        if (self.taking or not self.unbeaten) and not self._may_attack():
            raise ValueError("this bout is closed (R7.3, R9.1)")

    @property
    def seat_to_move(self) -> int:
        """Seat whose move is asked for."""
        return self.attacker_seat if self.turn is Role.ATTACKER else self.defender_seat

    @property
    def attack_limit(self) -> int:
        """Most attack cards of a bout whatever the defender holds: six, or five (R4.3)."""
        return 5 if self.five_card_limit else 6

    def attack_cards_allowed(self) -> int:
        """How many more attack cards the cap allows (R4.3, R4.4, R6.2)."""
        pairs = self.beaten.bit_count() // 2
        return (
            min(self.attack_limit, self.defender_hand.bit_count() + pairs)
            - pairs
            - self.unbeaten.bit_count()
        )

    def _may_attack(self) -> bool:
        """The cap, and a card in the attacker's hand, leave the bout open (R7.3)."""
        return bool(self.attacker_hand) and self.attack_cards_allowed() > 0


def single_cards(cards: int) -> Iterator[int]:
    """Single-card masks of a set, lowest card number first."""
    while cards:
        card = cards & -cards
        yield card
        cards ^= card


def same_ranks(cards: int) -> int:
    """All 52-card bits whose rank occurs in ``cards``."""
    ranks = (cards | cards >> 13 | cards >> 26 | cards >> 39) & SUIT
    return ranks * RANK


def beaters(card: int, trump_suit: int) -> int:
    """All 52-card bits that beat ``card`` (R1.3)."""
    suit = (card.bit_length() - 1) // 13
    higher = (SUIT << 13 * suit) & ~(2 * card - 1)
    return higher if suit == trump_suit else higher | SUIT << 13 * trump_suit


def legal_moves(position: Position) -> list[EndgameMove]:
    """Moves of the seat to move (R4–R7), WAIT where the attacker may leave it to the defender."""
    p = position
    if p.turn is Role.DEFENDER:
        return _defender_moves(p)
    table = p.unbeaten | p.beaten
    if not table:
        return [EndgameMove(MoveKind.ATTACK, card) for card in single_cards(p.attacker_hand)]
    moves = []
    if p.attack_cards_allowed() > 0:
        moves = [
            EndgameMove(MoveKind.ATTACK, card)
            for card in single_cards(p.attacker_hand & same_ranks(table))
        ]
    idle = MoveKind.PASS if p.taking or not p.unbeaten else MoveKind.WAIT
    return [*moves, EndgameMove(idle)]


def _defender_moves(p: Position) -> list[EndgameMove]:
    moves = [
        EndgameMove(MoveKind.DEFEND, card, target)
        for target in single_cards(p.unbeaten)
        for card in single_cards(p.defender_hand & beaters(target, p.trump_suit))
    ]
    if can_transfer(p):
        moves += [
            EndgameMove(MoveKind.TRANSFER, card)
            for card in single_cards(p.defender_hand & same_ranks(p.unbeaten))
        ]
    return [*moves, EndgameMove(MoveKind.TAKE)]


def can_transfer(position: Position) -> bool:
    """R6.1 and R6.2, but for the rank that the defender must hold."""
    p = position
    count = p.unbeaten.bit_count() + 1
    open_ = p.transfer and p.unbeaten and not p.beaten and not p.taking
    return bool(open_ and count <= min(p.attack_limit, p.attacker_hand.bit_count()))


def apply_move(position: Position, move: EndgameMove) -> Position | EndgameResult:
    """The position after a move, the bout closed where R7 says so. ValueError if not legal."""
    p = position
    if move not in legal_moves(p):
        raise ValueError(f"{move} is not legal here")
    kind, card, target = move
    if kind is MoveKind.WAIT:
        return replace(p, turn=Role.DEFENDER)
    if kind is MoveKind.PASS:
        return _taken(p) if p.taking else _beaten(p)
    if kind is MoveKind.TAKE:
        return _settle(p, p.attacker_hand, p.defender_hand, p.unbeaten, p.beaten, taking=True)
    if kind is MoveKind.ATTACK:
        return _settle(
            p, p.attacker_hand ^ card, p.defender_hand, p.unbeaten | card, p.beaten, taking=p.taking
        )
    if kind is MoveKind.DEFEND:
        beaten = p.beaten | card | target
        return _settle(
            p, p.attacker_hand, p.defender_hand ^ card, p.unbeaten ^ target, beaten, taking=False
        )
    return replace(
        p,
        attacker_hand=p.defender_hand ^ card,
        defender_hand=p.attacker_hand,
        unbeaten=p.unbeaten | card,
        turn=Role.ATTACKER,
        attacker_seat=p.defender_seat,
        defender_seat=p.attacker_seat,
    )


def _settle(
    p: Position, attacker: int, defender: int, unbeaten: int, beaten: int, *, taking: bool
) -> Position | EndgameResult:
    """The same bout with new places of the cards, closed if R7.3 says so."""
    pairs = beaten.bit_count() // 2
    room = min(p.attack_limit, defender.bit_count() + pairs) - pairs - unbeaten.bit_count()
    if (taking or not unbeaten) and (room <= 0 or not attacker):
        everything = p.attacker_hand | p.defender_hand | p.unbeaten | p.beaten
        if taking:
            return _next_bout(p, attacker, everything ^ attacker, discarded=False)
        return _next_bout(p, attacker, defender, discarded=True)
    return replace(
        p,
        attacker_hand=attacker,
        defender_hand=defender,
        unbeaten=unbeaten,
        beaten=beaten,
        taking=taking,
        turn=Role.ATTACKER,
    )


def _taken(p: Position) -> Position | EndgameResult:
    return _next_bout(p, p.attacker_hand, p.defender_hand | p.unbeaten | p.beaten, discarded=False)


def _beaten(p: Position) -> Position | EndgameResult:
    return _next_bout(p, p.attacker_hand, p.defender_hand, discarded=True)


def _next_bout(
    p: Position, attacker: int, defender: int, *, discarded: bool
) -> Position | EndgameResult:
    """Read the result (R9), else open the next bout.

    Roles swap after a defence and stay after a take (R7.1, R7.2).
    """
    if not attacker or not defender:
        if attacker:
            return EndgameResult(p.defender_seat)
        if defender or not p.draw_allowed:
            return EndgameResult(p.attacker_seat)
        return EndgameResult(None)
    quiet = 0 if discarded else p.quiet_bouts + 1
    if quiet >= BOUTS_WITHOUT_DISCARD_MAX:
        return EndgameResult(None)
    fresh = replace(
        p,
        attacker_hand=attacker,
        defender_hand=defender,
        unbeaten=0,
        beaten=0,
        taking=False,
        turn=Role.ATTACKER,
        quiet_bouts=quiet,
    )
    if not discarded:
        return fresh
    return replace(
        fresh,
        attacker_hand=defender,
        defender_hand=attacker,
        five_card_limit=False,
        attacker_seat=p.defender_seat,
        defender_seat=p.attacker_seat,
    )
