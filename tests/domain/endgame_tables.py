"""Tables that legal play brings to given hands with an empty stock.

`endgame_table` works backwards from the wanted hands. It undoes short bouts until the hands are a
deal:

- one or two cards are beaten: the attacker held them, the defender held the cards that beat them,
  all are discarded, and the defender attacks next (R7.1);
- a card is taken: the attacker held it, the defender holds it now and is skipped (R7.2).

While the stock lasts one card is beaten in every bout, and the attacker and the defender draw one
card each. Then the bouts are played forwards by the rules, on a table with that deal.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from domain.cards import BEATERS, BIT_OF, RANK_OF, SUIT_OF, Card, card_name, deck_cards
from tests.domain.tables import LETTERS, Table, cards, dealt, names

HAND = 6
HAND_CARDS_MAX = 8  # in a hand before the endgame


class Bout(NamedTuple):
    """The attack cards of one attacker, each with the card that beats it, or None if taken."""

    attacker: int
    cards: list[tuple[Card, Card | None]]


def endgame_table(
    *hands: str, trump: str, attacker: str = "A", deck: int = 36, **wanted: Any
) -> Table:
    """A table with an empty stock, these hands, and ``attacker`` to lead.

    ``trump`` is a suit. All other cards are in the discard pile.
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
    raise AssertionError("no deal was found that leads to these hands")


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
    """A deal, a stock and bouts that lead to the wanted hands, or None if this try fails."""
    hands = [list(hand) for hand in wanted]
    seats = len(hands)
    held = {card for hand in hands for card in hand}
    pairs = _pairs([card for card in deck_cards(deck) if card not in held], suit, chance)
    bouts: list[Bout] = []
    for beaten in reversed(_bout_sizes(tuple(map(len, hands)), attacker)):
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
    """One pair, or two pairs of which the second can be thrown in after the first is beaten."""
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
    """The cards in pairs, in which the second card beats the first."""
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


def _bout_sizes(sizes: tuple[int, ...], attacker: int) -> list[int]:
    """The fewest bouts from full hands to these sizes, as the number of beaten cards of each."""
    seats = len(sizes)
    start = (sizes, attacker)
    seen: dict[tuple[tuple[int, ...], int], list[int]] = {start: []}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        if here[0] == (HAND,) * seats:
            return seen[here]
        for beaten, before in _earlier(*here):
            if before not in seen:
                seen[before] = [beaten, *seen[here]]
                queue.append(before)
    raise AssertionError(f"no bouts lead from full hands to hands of {sizes}")


def _earlier(
    sizes: tuple[int, ...], attacker: int
) -> Iterator[tuple[int, tuple[tuple[int, ...], int]]]:
    """The bouts that can lead here, with the sizes and the attacker before each."""
    seats = len(sizes)
    for beaten, back in ((1, 1), (2, 1), (0, 2)):
        earlier, defender = (attacker - back) % seats, (attacker - back + 1) % seats
        before = list(sizes)
        before[earlier] += beaten or 1
        before[defender] += beaten or -1
        if min(before) >= 1 and max(before) <= HAND_CARDS_MAX:
            yield beaten, (tuple(before), earlier)
