"""Endings: tables that legal play brings to a position with an empty stock.

`ending` works backwards from the hands that are wanted. Short bouts undo to a deal:

- one or two cards beaten: the attacker had them, the defender had those that beat them, and all
  went to the discard pile; the defender attacks next (R7.1);
- a card taken: the attacker had it, the defender has it now, and is passed over (R7.2).

While the stock lasts one card is beaten in every bout, and the attacker and the defender each draw
one. Then the moves are played forwards, by the rules, on a table dealt that way.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from domain.cards import BEATERS, BIT_OF, RANK_OF, SUIT_OF, Card, card_name, deck_cards
from tests.domain.tables import LETTERS, Table, cards, dealt, names

HAND = 6
MOST_CARDS = 8  # in a hand on the way to an ending


class Bout(NamedTuple):
    """The attack cards of one attacker, each with what beats it; None: it is taken."""

    attacker: int
    cards: list[tuple[Card, Card | None]]


def ending(*hands: str, trump: str, attacker: str = "A", deck: int = 36, **wanted: Any) -> Table:
    """A table whose stock is empty, whose seats hold these hands, and where ``attacker`` leads.

    ``trump`` is a suit. Every other card is in the discard pile.
    """
    wanted_hands = [cards(hand) for hand in hands]
    suit = "♣♦♥♠".index(trump)
    for seed in range(2000):
        plan = _plan(wanted_hands, suit, LETTERS.index(attacker), deck, random.Random(seed))
        if plan is None:
            continue
        start, stock, bouts = plan
        turned_up = stock[-1] if stock else start[-1][-1]
        table = dealt(
            *map(names, start),
            trump=card_name(turned_up),
            stock=names(stock[:-1]),
            deck=deck,
            **wanted,
        )
        for bout in bouts:
            _play(table, bout)
        assert not table.match.stock
        assert [table.hand(letter) for letter in LETTERS[: len(hands)]] == [
            names(sorted(hand)) for hand in wanted_hands
        ]
        assert table.attacker == attacker
        return table
    raise AssertionError("no way found to this ending")


def _play(table: Table, bout: Bout) -> None:
    attacker, defender = LETTERS[bout.attacker], table.defender
    for card, beater in bout.cards:
        table.play(f"{attacker}: {card_name(card)}")
        answer = "take" if beater is None else f"{card_name(beater)} beats {card_name(card)}"
        table.play(f"{defender}: {answer}")
    table.pass_all()


def _plan(
    wanted: list[list[Card]], suit: int, attacker: int, deck: int, chance: random.Random
) -> tuple[list[list[Card]], list[Card], list[Bout]] | None:
    """Hands dealt, stock and bouts that lead to the hands wanted; None where chance was against."""
    hands = [list(hand) for hand in wanted]
    seats = len(hands)
    held = {card for hand in hands for card in hand}
    pairs = _pairs([card for card in deck_cards(deck) if card not in held], suit, chance)
    bouts: list[Bout] = []
    for beaten in reversed(_way(tuple(map(len, hands)), attacker)):
        if beaten:
            attacker, defender = (attacker - 1) % seats, attacker
            laid = _take_pairs(pairs, beaten)
            if laid is None:
                return None
            hands[attacker] += [card for card, _ in laid]
            hands[defender] += [beater for _, beater in laid]
            bouts.append(Bout(attacker, [*laid]))
        else:
            attacker, defender = (attacker - 2) % seats, (attacker - 1) % seats
            card = hands[defender].pop(chance.randrange(len(hands[defender])))
            hands[attacker].append(card)
            bouts.append(Bout(attacker, [(card, None)]))
    stock: list[Card] = []
    while pairs:
        attacker, defender = (attacker - 1) % seats, attacker
        last = [c for c in hands[defender] if stock or SUIT_OF[c] == suit]
        if not last:
            return None
        stock.append(_remove(hands[defender], chance.choice(last)))
        stock.append(_remove(hands[attacker], chance.choice(hands[attacker])))
        card, beater = pairs.pop()
        hands[attacker].append(card)
        hands[defender].append(beater)
        bouts.append(Bout(attacker, [(card, beater)]))
    if not stock:  # the last card dealt shows the trumps (R3.3)
        hands[-1].sort(key=lambda c: SUIT_OF[c] == suit)
    trumps = [(c, seat) for seat, hand in enumerate(hands) for c in hand if SUIT_OF[c] == suit]
    shown = stock[0] if stock else hands[-1][-1]
    if not trumps or min(trumps)[1] != attacker or SUIT_OF[shown] != suit:
        return None
    return hands, stock[::-1], bouts[::-1]


def _take_pairs(pairs: list[tuple[Card, Card]], count: int) -> list[tuple[Card, Card]] | None:
    """One pair, or two of which the second can be thrown in after the first was beaten."""
    if count == 1:
        return [pairs.pop()]
    for first in pairs:
        for second in pairs:
            if first != second and RANK_OF[second[0]] in {RANK_OF[card] for card in first}:
                pairs.remove(first)
                pairs.remove(second)
                return [first, second]
    return None


def _remove(hand: list[Card], card: Card) -> Card:
    hand.remove(card)
    return card


def _pairs(rest: list[Card], suit: int, chance: random.Random) -> list[tuple[Card, Card]]:
    """The cards by twos, of which the second beats the first."""
    pairs = []
    trumps = [card for card in rest if SUIT_OF[card] == suit]
    for plain in range(4):
        if plain == suit:
            continue
        ranks = [card for card in rest if SUIT_OF[card] == plain]
        if len(ranks) % 2:
            pairs.append((_remove(ranks, chance.choice(ranks)), _remove(trumps, trumps[-1])))
        pairs += zip(ranks[::2], ranks[1::2], strict=True)
    pairs += zip(trumps[::2], trumps[1::2], strict=True)
    assert all(BEATERS[suit][card] & BIT_OF[beater] for card, beater in pairs)
    chance.shuffle(pairs)
    return pairs


def _way(sizes: tuple[int, ...], attacker: int) -> list[int]:
    """The shortest way from full hands to these sizes: for each bout, how many cards are beaten."""
    seats = len(sizes)
    start = (sizes, attacker)
    seen: dict[tuple[tuple[int, ...], int], list[int]] = {start: []}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        if here[0] == (HAND,) * seats:
            return seen[here]
        for beaten, before in _before(*here):
            if before not in seen:
                seen[before] = [beaten, *seen[here]]
                queue.append(before)
    raise AssertionError(f"no way from full hands to hands of {sizes}")


def _before(
    sizes: tuple[int, ...], attacker: int
) -> Iterator[tuple[int, tuple[tuple[int, ...], int]]]:
    """The bouts that can have led here."""
    seats = len(sizes)
    for beaten, back in ((1, 1), (2, 1), (0, 2)):
        earlier, defender = (attacker - back) % seats, (attacker - back + 1) % seats
        before = list(sizes)
        before[earlier] += beaten or 1
        before[defender] += beaten or -1
        if min(before) >= 1 and max(before) <= MOST_CARDS:
            yield beaten, (tuple(before), earlier)
