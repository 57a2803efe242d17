"""Endgame positions: two seats in play, an empty stock, both hands known (R4 to R9).

A card is its bit, ``1 << (card number - 1)``, and a set of cards is a mask of such bits, as in
`domain.cards`. A position does not name its deck: only the cards still in play matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

from domain.cards import ALL_CARDS, BEATERS, RANK_MASK, SUIT_MASK, CardMask
from domain.match.state import (
    ATTACK_CARDS_MAX,
    BOUTS_WITHOUT_DISCARD_MAX,
    OPENING_ATTACK_CARDS_MAX,
)


class Role(IntEnum):
    """The role of a seat in the current bout."""

    ATTACKER = 0
    DEFENDER = 1


class MoveKind(IntEnum):
    """The moves of a match, and WAIT: the attacker lets the defender move first."""

    ATTACK = 1
    DEFEND = 2
    TRANSFER = 3
    TAKE = 4
    PASS = 5
    WAIT = 6


class EndgameMove(NamedTuple):
    """A move. ``card`` is the card played, ``target`` the attack card that a DEFEND beats."""

    kind: MoveKind
    card: CardMask = 0
    target: CardMask = 0


class Terminal(NamedTuple):
    """The end of an endgame: the seat that won, or None for a draw."""

    winner: int | None


@dataclass(frozen=True, slots=True)
class Position:
    """All facts that decide an endgame.

    Raises ValueError for a position that no bout can reach, or that R7.3 or R9 has already closed.

    There is no field for the cap of R4.3 and R6.2. It follows from the hand that the defender had
    when they became the defender: their present hand and one card for each beaten attack card.

    Attributes:
        attacker_hand: the attacker's cards.
        defender_hand: the defender's cards.
        trump_suit: 0 to 3.
        unbeaten: the attack cards that are not beaten.
        beaten: the beaten attack cards and the cards that beat them.
        taking: the defender has declared "take".
        turn: the role that moves. While there are unbeaten cards and "take" is not declared, either
            seat may move (R5.1): see ``defender_first``. In all other positions the turn follows
            from the table.
        transfer: transfers are allowed.
        draw_allowed: draws are allowed (R9.4).
        five_card_limit: the five-card opening is on and no defence has succeeded yet (R4.3).
        bouts_without_discard: the bouts in a row that ended without a discard, 0 to 49 (R9.5).
        attacker_seat: the attacker's seat.
        defender_seat: the defender's seat.
    """

    attacker_hand: CardMask
    defender_hand: CardMask
    trump_suit: int
    unbeaten: CardMask = 0
    beaten: CardMask = 0
    taking: bool = False
    turn: Role = Role.ATTACKER
    transfer: bool = False
    draw_allowed: bool = True
    five_card_limit: bool = False
    bouts_without_discard: int = 0
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
            raise ValueError(
                "each card must be in one place only, as one of the bits 1 << 0 to 1 << 51"
            )
        if (
            not 0 <= self.trump_suit <= 3
            or not 0 <= self.bouts_without_discard < BOUTS_WITHOUT_DISCARD_MAX
        ):
            raise ValueError("trump_suit must be 0 to 3 and bouts_without_discard 0 to 49")
        if self.attacker_seat == self.defender_seat:
            raise ValueError("attacker and defender must be different seats")
        if self.beaten.bit_count() % 2 or self.attack_cards_allowed() < 0:
            raise ValueError(
                "beaten cards must be pairs, and the attack must not exceed its cap (R4.3)"
            )
        if self.turn is Role.DEFENDER and (self.taking or not self.unbeaten):
            raise ValueError(
                "the defender can move only while there is a card to beat (R4.2, R7.2)"
            )
        if self.taking and not self.unbeaten:
            raise ValueError("a take requires an unbeaten attack card (R7.2)")
        if (self.taking or not self.unbeaten) and not self._may_attack():
            raise ValueError("this bout is closed (R7.3, R9.1)")

    @property
    def seat_to_move(self) -> int:
        """The seat that moves."""
        return self.attacker_seat if self.turn is Role.ATTACKER else self.defender_seat

    @property
    def attack_limit(self) -> int:
        """The maximum number of attack cards in a bout, regardless of hands: six or five (R4.3)."""
        return OPENING_ATTACK_CARDS_MAX if self.five_card_limit else ATTACK_CARDS_MAX

    def attack_cards_allowed(self) -> int:
        """Return how many more attack cards the cap allows (R4.3, R4.4, R6.2)."""
        pairs = self.beaten.bit_count() // 2
        return (
            min(self.attack_limit, self.defender_hand.bit_count() + pairs)
            - pairs
            - self.unbeaten.bit_count()
        )

    def defender_first(self) -> Position:
        """Return this position with the defender to move, if either seat may move (R5.1).

        The attacker cannot rely on moving first, so the value of a move is the value of this.
        """
        if self.turn is Role.DEFENDER or self.taking or not self.unbeaten:
            return self
        return replace(self, turn=Role.DEFENDER)

    def _may_attack(self) -> bool:
        """Return whether the attacker has a card left and the cap allows it (R7.3)."""
        return bool(self.attacker_hand) and self.attack_cards_allowed() > 0


def single_cards(cards: CardMask) -> Iterator[CardMask]:
    """Yield the mask of each card of a set, lowest card number first."""
    while cards:
        card = cards & -cards
        yield card
        cards ^= card


def same_ranks(cards: CardMask) -> CardMask:
    """Return all cards whose rank occurs in ``cards``."""
    ranks = (cards | cards >> 13 | cards >> 26 | cards >> 39) & SUIT_MASK[0]
    return ranks * RANK_MASK[2]  # each rank in the first suit, repeated in all four


def beaters(card: CardMask, trump_suit: int) -> CardMask:
    """Return all cards that beat ``card`` (R1.3)."""
    return BEATERS[trump_suit][card.bit_length()]


def legal_moves(position: Position) -> list[EndgameMove]:
    """Return the legal moves of the seat to move (R4 to R7).

    They include WAIT where the attacker may let the defender move first.
    """
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
    """Return whether a transfer is allowed, given a card of the right rank (R6.1, R6.2)."""
    p = position
    count = p.unbeaten.bit_count() + 1
    is_open = p.transfer and p.unbeaten and not p.beaten and not p.taking
    return bool(is_open and count <= min(p.attack_limit, p.attacker_hand.bit_count()))


def apply_move(position: Position, move: EndgameMove) -> Position | Terminal:
    """Return the position after a move, or the result if the move ends the endgame.

    A bout that R7 closes is closed. Raises ValueError if the move is not legal.
    """
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
) -> Position | Terminal:
    """Return the bout with the cards in new places, closed if R7.3 closes it."""
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


def _taken(p: Position) -> Position | Terminal:
    return _next_bout(p, p.attacker_hand, p.defender_hand | p.unbeaten | p.beaten, discarded=False)


def _beaten(p: Position) -> Position | Terminal:
    return _next_bout(p, p.attacker_hand, p.defender_hand, discarded=True)


def _next_bout(
    p: Position, attacker: int, defender: int, *, discarded: bool
) -> Position | Terminal:
    """Return the result if there is one (R9), else the start of the next bout.

    The roles swap after a defence and stay after a take (R7.1, R7.2).
    """
    if not attacker or not defender:
        if attacker:
            return Terminal(p.defender_seat)
        if defender or not p.draw_allowed:
            return Terminal(p.attacker_seat)
        return Terminal(None)
    without_discard = 0 if discarded else p.bouts_without_discard + 1
    if without_discard >= BOUTS_WITHOUT_DISCARD_MAX:
        return Terminal(None)
    fresh = replace(
        p,
        attacker_hand=attacker,
        defender_hand=defender,
        unbeaten=0,
        beaten=0,
        taking=False,
        turn=Role.ATTACKER,
        bouts_without_discard=without_discard,
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
