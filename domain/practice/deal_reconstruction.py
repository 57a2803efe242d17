"""Reconstructs a deal and bouts that lead two seats to given hands.

A puzzle states two hands with an empty stock. To play it on an ordinary match, this module works
backwards from the hands to a deal. Every bout has one attack card:

- a card that is beaten: the attacker held it, the defender held the card that beats it, both are
  discarded, and the defender attacks next (R7.1);
- a card that is taken: the attacker held it, the defender holds it now and is skipped (R7.2).

While the stock lasts every bout is of the first kind, and the attacker and the defender draw one
card each (R8.2). Cards leave play in pairs, so the two hands have an even number of cards.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from domain.cards import BEATERS, BIT_OF, RANK_OF, SUIT_OF, Card, CardMask, cards_in, deck_cards
from domain.match.deal import HAND_SIZE, lowest_trump_holder
from durak.v1.events_pb2 import Dealt, DealtHand


class Bout(NamedTuple):
    """A bout of one attack card. ``beater`` is None if the defender takes it."""

    attacker: int
    card: Card
    beater: Card | None


class Reconstruction(NamedTuple):
    """A deal to two seats and the bouts that follow it."""

    dealt: Dealt
    bouts: tuple[Bout, ...]


def reconstruct_deal(
    hands: Sequence[CardMask], leader: int, trump_suit: int, deck: int
) -> Reconstruction:
    """Return a deal and bouts after which the seats hold ``hands`` and ``leader`` leads.

    Args:
        hands: the wanted hands of the two seats.
        leader: the seat that leads the next bout.
        trump_suit: 0 to 3.
        deck: the number of cards: 24, 36 or 52.

    Raises:
        ValueError: no such deal exists, or none was found.
    """
    counts = [hand.bit_count() for hand in hands]
    if not all(counts) or sum(counts) % 2 or sum(counts) > 2 * HAND_SIZE:
        raise ValueError("both hands must hold cards, in total an even number and at most twelve")
    steps = _plan_steps(counts, leader, (deck - 2 * HAND_SIZE) // 2)
    rest = [card for card in deck_cards(deck) if not (hands[0] | hands[1]) & BIT_OF[card]]
    pairs = _pairs(rest, trump_suit)
    for order in (pairs, pairs[::-1]):
        for first in range(len(order)):
            found = _play_backwards(hands, steps, order[first:] + order[:first], trump_suit)
            if found is not None:
                return found
    raise ValueError("no deal was found that leads to these hands")


class _Step(NamedTuple):
    """A bout whose cards are not chosen yet."""

    attacker: int
    is_beaten: bool
    draws: bool


def _plan_steps(counts: Sequence[int], leader: int, draws: int) -> list[_Step]:
    """Return the attacker and the end of each bout, first the bouts with draws."""
    takes = abs(counts[0] - counts[1]) // 2
    giver = 0 if counts[0] < counts[1] else 1
    beaten = HAND_SIZE - takes - min(counts)
    before = 0  # beaten bouts before the takes, in which the giver attacks
    if takes:
        before = (beaten - (leader != giver)) % 2
        if before > beaten:
            raise ValueError("the seat with fewer cards must lead")
        seat = giver if before % 2 == 0 else 1 - giver
    else:
        seat = leader if beaten % 2 == 0 else 1 - leader
    if draws % 2:
        seat = 1 - seat
    steps = []
    for count, is_beaten, draws_too in (
        (draws, True, True),
        (before, True, False),
        (takes, False, False),
        (beaten - before, True, False),
    ):
        for _ in range(count):
            steps.append(_Step(seat, is_beaten, draws_too))
            seat = 1 - seat if is_beaten else seat
    assert seat == leader
    return steps


def _pairs(rest: Sequence[Card], trump_suit: int) -> list[tuple[Card, Card]]:
    """Split the cards into pairs in which the second beats the first. Raises ValueError."""
    trumps = [card for card in rest if SUIT_OF[card] == trump_suit]
    pairs: list[tuple[Card, Card]] = []
    for suit in range(4):
        if suit == trump_suit:
            continue
        cards = [card for card in rest if SUIT_OF[card] == suit]
        if len(cards) % 2:
            if not trumps:
                raise ValueError("too few trumps are out of play")
            pairs.append((cards.pop(), trumps.pop()))
        pairs += zip(cards[::2], cards[1::2], strict=True)
    pairs += zip(trumps[::2], trumps[1::2], strict=True)
    assert all(BEATERS[trump_suit][card] & BIT_OF[beater] for card, beater in pairs)
    return pairs


def _play_backwards(
    wanted: Sequence[CardMask],
    steps: Sequence[_Step],
    pairs: Sequence[tuple[Card, Card]],
    trump_suit: int,
) -> Reconstruction | None:
    """Undo the bouts with the pairs in this order, last bout first. None if not legal."""
    hands = [list(cards_in(hand)) for hand in wanted]
    left = iter(pairs)
    stock: list[Card] = []
    bouts: list[Bout] = []
    for attacker, is_beaten, draws in reversed(steps):
        defender = 1 - attacker
        if draws:
            stock += [_undraw(hands[seat], trump_suit) for seat in (defender, attacker)]
        bouts.append(_undo(hands, attacker, left, is_beaten=is_beaten))
    leader = bouts[-1].attacker
    held = [sum(BIT_OF[card] for card in hand) for hand in hands]
    if SUIT_OF[stock[0]] != trump_suit or lowest_trump_holder(held, trump_suit) != leader:
        return None
    dealt = Dealt(
        hands=[DealtHand(seat=seat, cards=hand) for seat, hand in enumerate(hands)],
        trump_card=stock[0],
        stock=stock[::-1],
        first_attacker=leader,
    )
    return Reconstruction(dealt, tuple(reversed(bouts)))


def _undo(
    hands: list[list[Card]], attacker: int, pairs: Iterator[tuple[Card, Card]], *, is_beaten: bool
) -> Bout:
    """Return the cards of a bout to the hands that played them."""
    defender = 1 - attacker
    if is_beaten:
        card, beater = next(pairs)
        hands[attacker].append(card)
        hands[defender].append(beater)
        return Bout(attacker, card, beater)
    card = min(hands[defender], key=RANK_OF.__getitem__)
    hands[defender].remove(card)
    hands[attacker].append(card)
    return Bout(attacker, card, None)


def _undraw(hand: list[Card], trump_suit: int) -> Card:
    """Remove a drawn card from a hand: trumps first, so that few trumps were dealt."""
    card = max(hand, key=lambda held: (SUIT_OF[held] == trump_suit, RANK_OF[held]))
    hand.remove(card)
    return card
