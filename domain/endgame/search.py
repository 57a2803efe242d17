"""Proof search in endgames: can a side force at least a given value?

Each method answers one yes-or-no question: does the named side reach at least ``goal`` (1 = win,
0 = draw or better) against every defence? If it does not, the other side reaches at least
``1 - goal``. Hands and tables are masks over the cards of one root position, renumbered so that a
lower bit is a weaker card.

While cards are unbeaten both seats may act (R5.1), and the first one to act is first. No seat can
rely on being faster, so a value counts only what holds if the defender always acts first. Without
transfers nothing depends on this: a card that can be thrown in before the defender acts can also be
thrown in afterwards, because the ranks on the table only grow and the cap does not change. With
transfers an early card can make a transfer impossible (R6.2), but only if the defender lets it.

The search omits a move that is provably no better than one that it keeps: taking after some cards
were beaten. The defender can beat the cards in any order without interruption. Taking at once picks
up the same cards and gives the attacker fewer ranks to throw in.
"""

from __future__ import annotations

from domain.endgame.position import beaters, same_ranks, single_cards

FAR = 1 << 30
"""A depth beyond any path. Marks an answer that depends on no open position."""


class BudgetSpent(Exception):  # noqa: N818 - a normal way for a search to end
    """The search has visited the maximum number of positions."""


class Search:
    """Search without transfers (podkidnoy).

    No line of play repeats a position. Between two discards every bout ends in a take, which moves
    cards from the attacker, who attacks again, to the defender, so the attacker's hand shrinks. The
    number of such bouts in a row is at most the attacker's number of cards. R9.5 matters only if
    the count of bouts without a discard starts within that distance of fifty.
    """

    def __init__(
        self, cards: int, trump_suit: int, *, draw_allowed: bool, first_limit: int
    ) -> None:
        """Prepare a search.

        Args:
            cards: all cards in play, as a mask of `domain.cards`.
            trump_suit: 0 to 3.
            draw_allowed: draws are allowed (R9.4).
            first_limit: the maximum number of attack cards in a bout until the first discard.
        """
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
        # The attacker's value if both hands are empty. Without draws the defender loses (R9.4).
        self.both_out = 0 if draw_allowed else 1
        self.draws_occur = draw_allowed
        self.memo: dict[int, int] = {}
        self.visited = 0
        self.allowance = FAR

    def pack(self, cards: int) -> int:
        """Convert a mask of `domain.cards` to a mask of this search."""
        return sum(self.bit_of[card] for card in single_cards(cards))

    def ranks_on(self, table: int) -> int:
        """Return all cards whose rank is on the table."""
        ranks = 0
        for card in single_cards(table):
            ranks |= self.mates[card]
        return ranks

    def limit(self, everything: int) -> int:
        """Return the maximum number of attack cards in a bout (R4.3) with these cards in play."""
        return self.first_limit if everything == self.full else 6

    def count_visit(self) -> None:
        """Count a visited position. Raises BudgetSpent."""
        if self.visited >= self.allowance:
            raise BudgetSpent
        self.visited += 1

    def abandon(self) -> None:
        """Discard the state of an interrupted search. This search keeps none."""

    def confirm(self, *, won: bool) -> None:
        """Check the last answer. Raises HorizonReached if it is not final; here it always is."""

    def widen(self) -> bool:
        """Widen the search horizon. Return False if it cannot be wider, as always here."""
        return False

    # Bout start and end

    def lead(self, attacker: int, defender: int, goal: int) -> bool:
        """Return whether the attacker reaches the goal from the start of a bout.

        Neither hand is empty.
        """
        key = (attacker << self.width | defender) << 1 | goal
        known = self.memo.get(key)
        if known is None:
            known = self.memo.get(key ^ 1)  # a win is no less than a draw
            if known is None or known == goal:
                self.count_visit()
                known = self.search_lead(attacker, defender, goal)
            self.memo[key] = known
        return known == 1

    def search_lead(self, attacker: int, defender: int, goal: int) -> bool:
        """Compute ``lead`` without the memo."""
        if self.is_certain(attacker, defender, goal):
            return True
        defend, mates, other = self.defend, self.mates, 1 - goal
        rest = attacker
        while rest:
            card = rest & -rest
            rest ^= card
            if not defend(attacker ^ card, defender, card, 0, mates[card], other):
                return True
        return False

    def is_certain(self, attacker: int, defender: int, goal: int) -> bool:
        """Return whether the attacker reaches the goal because their beatable cards share one rank.

        The attacker leads the unbeatable cards one by one, plain suits first, each suit in
        ascending order, so that no card taken beats a later one. The defender must take each of
        them. Then the attacker plays the beatable cards in one bout and is out when it ends. The
        defender still holds cards if they have more cards than the attacker played in that bout.
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

    def defend(
        self, attacker: int, defender: int, unbeaten: int, beaten: int, ranks: int, goal: int
    ) -> bool:
        """Return whether the defender reaches the goal by beating all, transferring or taking.

        Beating is tried first because it leaves fewer cards, unless taking is known to succeed.
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
        """Return whether the defender reaches the goal by a transfer. Never without transfers."""
        return False

    def beat_all(
        self, attacker: int, defender: int, unbeaten: int, beaten: int, ranks: int, goal: int
    ) -> bool:
        """Return whether the defender reaches the goal by beating every unbeaten card."""
        throw_in, other = self.throw_in, 1 - goal
        table = beaten | unbeaten
        if unbeaten & (unbeaten - 1):
            for used in self.defence_sets(defender, unbeaten):
                after = ranks | self.ranks_on(used)
                if not throw_in(attacker, defender ^ used, table | used, after, other):
                    return True
            return False
        mates = self.mates
        fresh = attacker & ~ranks
        opening = 0  # cards that give the attacker a new rank to throw in; tried last
        choice = self.beats[unbeaten] & defender
        while choice:
            card = choice & -choice
            choice ^= card
            if mates[card] & fresh:
                opening |= card
            elif not throw_in(attacker, defender ^ card, table | card, ranks | mates[card], other):
                return True
        while opening:
            card = opening & -opening
            opening ^= card
            if not throw_in(attacker, defender ^ card, table | card, ranks | mates[card], other):
                return True
        return False

    def defence_sets(self, defender: int, unbeaten: int) -> set[int]:
        """Return the sets of defender's cards that beat all of ``unbeaten``, one each (R4.2)."""
        found = {0}
        for target in single_cards(unbeaten):
            choice = self.beats[target] & defender
            found = {used | card for used in found for card in single_cards(choice & ~used)}
        return found

    def after_take(
        self, attacker: int, fitting: int, room: int, everything: int, goal: int
    ) -> bool:
        """Return whether the attacker reaches the goal after the defender's "take" (R7.2)."""
        hands = self.hands_after_take(attacker, fitting, room, everything, goal)
        return hands is None or any(self.lead(hand, everything ^ hand, goal) for hand in hands)

    def hands_after_take(
        self, attacker: int, fitting: int, room: int, everything: int, goal: int
    ) -> list[int] | None:
        """Return the attacker's possible hands after a take whose value is not known yet.

        After the "take" the attacker may add up to ``room`` of the ``fitting`` cards and then leads
        again. Returns None if one of the hands is known to reach the goal.
        """
        lead, memo, width = self.lead, self.memo, self.width
        added = fitting
        hands = []
        while True:  # every subset, the full set first
            if added.bit_count() <= room:
                hand = attacker ^ added
                if not hand:
                    return None  # the attacker is out, and the defender holds the taken cards
                rest = everything ^ hand
                if (hand << width | rest) << 1 | goal not in memo:
                    hands.append(hand)
                elif lead(hand, rest, goal):
                    return None
            if not added:
                return hands
            added = (added - 1) & fitting

    def throw_in(self, attacker: int, defender: int, beaten: int, ranks: int, goal: int) -> bool:
        """Return whether the attacker reaches the goal when all cards are beaten (R5.3, R7.3)."""
        if not attacker:
            return bool(defender) or goal <= self.both_out
        if not defender:
            return False
        limit = self.limit(attacker | defender | beaten)
        if not attacker & ranks or beaten.bit_count() >= 2 * limit:
            return not self.lead(defender, attacker, 1 - goal)
        return self.choose_throw_in(attacker, defender, beaten, ranks, goal)

    def choose_throw_in(
        self, attacker: int, defender: int, beaten: int, ranks: int, goal: int
    ) -> bool:
        """Compute ``throw_in`` if the attacker can choose between throwing in and passing."""
        key = ((attacker << self.width | defender) << self.width | beaten) << 1 | goal
        known = self.memo.get(key)
        if known is None:
            known = self.memo.get(key ^ 1)
            if known is None or known == goal:
                self.count_visit()
                known = self.search_throw_in(attacker, defender, beaten, ranks, goal)
            self.memo[key] = known
        return known == 1

    def search_throw_in(
        self, attacker: int, defender: int, beaten: int, ranks: int, goal: int
    ) -> bool:
        """Compute ``choose_throw_in`` without the memo."""
        other, defend = 1 - goal, self.defend
        fitting = attacker & ranks
        while fitting:
            card = fitting & -fitting
            fitting ^= card
            if not defend(attacker ^ card, defender, card, beaten, ranks, other):
                return True
        return not self.lead(defender, attacker, other)
