"""Proofs in the endgame: can a seat force at least a given value?

Every method answers one yes-or-no question: does the side it names reach at least ``goal`` (1 =
win, 0 = draw or better) against every defence? The other side reaches at least ``1 - goal`` exactly
when the answer is no. Hands and table are masks over the cards of one root position, renumbered so
that a lower bit is a weaker card.

Where both seats may act (R5.1 lets the attacker throw in while the defender is still beating) the
search leaves out moves that are provably no better than one it keeps:

* Throwing in before the defender acts. Whatever the defender does next, beat a card or take, the
same card can still
  be thrown in afterwards: ranks on the table only grow, and the attack cap does not move. So
  waiting is as good, with one exception: an early card can make a transfer impossible (R6.2), so it
  is searched while a transfer is open.
* Hence the defender may beat the cards before them in any order without being disturbed, and taking
after beating
  some is no better than taking at once: the same cards are picked up, and the attacker has more
  ranks to throw in.
"""

from __future__ import annotations

from domain.endgame.position import beaters, same_ranks, single_cards

FAR = 1 << 30
"""Deeper than any path: depends on no position above."""


class BudgetSpent(Exception):  # noqa: N818 no error: a search may end so
    """The search has visited as many positions as it was allowed to."""


class Search:
    """Search without transfers (podkidnoy).

    No line repeats a position here: between two discards every take moves cards from the attacker,
    who attacks again, to the defender, so the attacker's hand shrinks. Within such a run the
    attacker takes part in at most as many bouts as they hold cards, and R9.5 cannot matter unless
    the counter starts within that distance of fifty.
    """

    def __init__(
        self, cards: int, trump_suit: int, *, draw_allowed: bool, first_limit: int
    ) -> None:
        """Prepare for all ``cards`` in play; see ``limit`` for ``first_limit``."""
        trumps = ((1 << 13) - 1) << 13 * trump_suit
        order = sorted(
            single_cards(cards), key=lambda c: (bool(c & trumps), (c.bit_length() - 1) % 13, c)
        )
        self.bit_of = {card: 1 << i for i, card in enumerate(order)}
        self.beats = {self.bit_of[c]: self.pack(beaters(c, trump_suit) & cards) for c in order}
        self.mates = {self.bit_of[c]: self.pack(same_ranks(c) & cards) for c in order}
        self.width = len(order)
        self.full = (1 << self.width) - 1
        self.first_limit = first_limit
        self.both_out = (
            0 if draw_allowed else 1
        )  # R9.4: without draws the defender of that bout loses
        self.draws_occur = draw_allowed
        self.memo: dict[int, int] = {}
        self.visited = 0
        self.allowance = FAR

    def pack(self, cards: int) -> int:
        """Mask of this search for a mask of 52 cards."""
        return sum(self.bit_of[card] for card in single_cards(cards))

    def ranks_on(self, table: int) -> int:
        """Cards whose rank lies on the table."""
        ranks = 0
        for card in single_cards(table):
            ranks |= self.mates[card]
        return ranks

    def limit(self, everything: int) -> int:
        """Most attack cards of a bout (R4.3); ``first_limit`` holds until a discard."""
        return self.first_limit if everything == self.full else 6

    def count(self) -> None:
        """Count one position. Raises BudgetSpent."""
        if self.visited >= self.allowance:
            raise BudgetSpent
        self.visited += 1

    def abandon(self) -> None:
        """Forget what an interrupted search left open: nothing here."""

    def confirm(self, *, won: bool) -> None:
        """Check the answer just found: always final here."""

    def widen(self) -> bool:
        """Look further where a question was left open: nothing is here."""
        return False

    # Bout start and end

    def lead(self, attacker: int, defender: int, goal: int) -> bool:
        """Attacker, who opens a bout with both hands not empty."""
        key = (attacker << self.width | defender) << 1 | goal
        known = self.memo.get(key)
        if known is None:
            known = self.memo.get(key ^ 1)  # a win is no less than a draw
            if known is None or known == goal:
                self.count()
                known = self.search_lead(attacker, defender, goal)
            self.memo[key] = known
        return known == 1

    def search_lead(self, attacker: int, defender: int, goal: int) -> bool:
        """``lead`` without memory."""
        if self.certain(attacker, defender, goal):
            return True
        faced, mates, other = self.faced, self.mates, 1 - goal
        rest = attacker
        while rest:
            card = rest & -rest
            rest ^= card
            if not faced(attacker ^ card, defender, card, 0, mates[card], other):
                return True
        return False

    def certain(self, attacker: int, defender: int, goal: int) -> bool:
        """Attacker is sure of the goal because the beatable part of their hand has one rank.

        They lead the cards that nothing beats one by one, plain suits first and each suit upwards,
        so that a card taken never beats a later one; the defender has to take each. Then they lay
        the beatable rank in one bout. They are out when it closes, and the defender still holds
        cards if they hold more than were laid.
        """
        beats = self.beats
        beatable = 0
        rest = attacker
        while rest:
            card = rest & -rest
            rest ^= card
            if beats[card] & defender:
                beatable |= card
        if beatable & ~self.mates.get(beatable & -beatable, 0):
            return False
        spare = attacker.bit_count() + defender.bit_count() - 2 * beatable.bit_count()
        return spare > 0 or (spare == 0 and goal <= self.both_out)

    # Inside a bout

    def faced(
        self, attacker: int, defender: int, unbeaten: int, beaten: int, ranks: int, goal: int
    ) -> bool:
        """Defender, with cards to beat, if the attacker may still add some first."""
        return self.answer(attacker, defender, unbeaten, beaten, ranks, goal)

    def answer(
        self, attacker: int, defender: int, unbeaten: int, beaten: int, ranks: int, goal: int
    ) -> bool:
        """Defender, who beats everything, transfers or takes.

        Beating comes first, since it leaves fewer cards, unless taking is known to do.
        """
        everything = attacker | defender | unbeaten | beaten
        limit = self.first_limit if everything == self.full else 6
        room = min(limit - beaten.bit_count() // 2, defender.bit_count()) - unbeaten.bit_count()
        other = 1 - goal
        hands = self.hands_after_take(attacker, attacker & ranks, room, everything, other)
        if hands is not None and not hands:
            return True
        if self.beat_all(attacker, defender, unbeaten, beaten, ranks, goal):
            return True
        if not beaten and self.transfer(attacker, defender, unbeaten, ranks, goal):
            return True
        if hands is None:
            return False
        return not any(self.lead(hand, everything ^ hand, other) for hand in hands)

    def transfer(self, attacker: int, defender: int, unbeaten: int, ranks: int, goal: int) -> bool:
        """Defender, who transfers: not in this kind of durak."""
        return False

    def beat_all(
        self, attacker: int, defender: int, unbeaten: int, beaten: int, ranks: int, goal: int
    ) -> bool:
        """Defender, who beats everything."""
        throw, other = self.throw, 1 - goal
        table = beaten | unbeaten
        if unbeaten & (unbeaten - 1):
            for used in self.covers(defender, unbeaten):
                after = ranks | self.ranks_on(used)
                if not throw(attacker, defender ^ used, table | used, after, other):
                    return True
            return False
        mates = self.mates
        fresh = attacker & ~ranks
        loud = 0  # cards that would give the attacker a new rank to throw in: they come last
        choice = self.beats[unbeaten] & defender
        while choice:
            card = choice & -choice
            choice ^= card
            if mates[card] & fresh:
                loud |= card
            elif not throw(attacker, defender ^ card, table | card, ranks | mates[card], other):
                return True
        while loud:
            card = loud & -loud
            loud ^= card
            if not throw(attacker, defender ^ card, table | card, ranks | mates[card], other):
                return True
        return False

    def covers(self, defender: int, unbeaten: int) -> set[int]:
        """Sets of the defender's cards that beat all of ``unbeaten``, one each (R4.2)."""
        found = {0}
        for target in single_cards(unbeaten):
            choice = self.beats[target] & defender
            found = {used | card for used in found for card in single_cards(choice & ~used)}
        return found

    def taken(self, attacker: int, fitting: int, room: int, everything: int, goal: int) -> bool:
        """Attacker, once the defender takes (R7.2)."""
        hands = self.hands_after_take(attacker, fitting, room, everything, goal)
        return hands is None or any(self.lead(hand, everything ^ hand, goal) for hand in hands)

    def hands_after_take(
        self, attacker: int, fitting: int, room: int, everything: int, goal: int
    ) -> list[int] | None:
        """Hands with which the attacker can lead again, of which it is not known what they reach.

        After a take they may add up to ``room`` of the ``fitting`` cards. None if one of the hands
        is known to reach the goal.
        """
        lead, memo, width = self.lead, self.memo, self.width
        added = fitting
        hands = []
        while True:  # every subset, the whole first
            if added.bit_count() <= room:
                hand = attacker ^ added
                if not hand:
                    return None  # out, and the defender holds the table
                rest = everything ^ hand
                if (hand << width | rest) << 1 | goal not in memo:
                    hands.append(hand)
                elif lead(hand, rest, goal):
                    return None
            if not added:
                return hands
            added = (added - 1) & fitting

    def throw(self, attacker: int, defender: int, beaten: int, ranks: int, goal: int) -> bool:
        """Attacker, with everything beaten: throws in or passes (R5.3), unless R7.3 closes."""
        if not attacker:
            return bool(defender) or goal <= self.both_out
        if not defender:
            return False
        limit = self.limit(attacker | defender | beaten)
        if not attacker & ranks or beaten.bit_count() >= 2 * limit:
            return not self.lead(defender, attacker, 1 - goal)
        return self.open_throw(attacker, defender, beaten, ranks, goal)

    def open_throw(self, attacker: int, defender: int, beaten: int, ranks: int, goal: int) -> bool:
        """``throw`` where the attacker has a choice."""
        key = ((attacker << self.width | defender) << self.width | beaten) << 1 | goal
        known = self.memo.get(key)
        if known is None:
            known = self.memo.get(key ^ 1)
            if known is None or known == goal:
                self.count()
                known = self.search_throw(attacker, defender, beaten, ranks, goal)
            self.memo[key] = known
        return known == 1

    def search_throw(
        self, attacker: int, defender: int, beaten: int, ranks: int, goal: int
    ) -> bool:
        """``open_throw`` without memory."""
        other, answer = 1 - goal, self.answer
        fitting = attacker & ranks
        while fitting:
            card = fitting & -fitting
            fitting ^= card
            if not answer(attacker ^ card, defender, card, beaten, ranks, other):
                return True
        return not self.lead(defender, attacker, other)
