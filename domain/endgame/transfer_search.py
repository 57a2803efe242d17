"""Proof search with transfers, in which positions can repeat.

With transfers a take can return the cards that an earlier bout took. A *run*, a row of bouts
without a discard, can therefore come back to an earlier position.
"""

from __future__ import annotations

from domain.endgame.position import single_cards
from domain.endgame.search import FAR, Search

ON_HORIZON = -1
"""Used instead of a depth: the answer depends on the search horizon."""

HORIZON_MAX = 24
"""The maximum horizon, in bouts of one run. The depth of recursion allows no more."""


class HorizonReached(Exception):  # noqa: N818 - a normal way for a search to end
    """The question cannot be answered within the search horizon."""


class TransferSearch(Search):
    """Search with transfers (perevodnoy) that treats a run without end as a draw.

    Correctness under R9.5. Call a win *forced in n* if against every defence each run from here on
    has at most n bouts that end in a take. (a) A seat that can force a win under R9.5 can also
    force it here, by the same moves. Thus a position that is a draw here is a draw under R9.5.
    (b) A win forced in n is also a win under R9.5 if ``bouts_without_discard`` + n is below fifty,
    and n is below fifty in every later run, where the count starts from 0. ``root_run`` is an upper
    bound of n. If it is too large, the caller uses ``CountdownSearch``, which counts the bouts.

    Repetition. A question is "can this seat force a win?", so a position that repeats on the path
    fails for that seat. A win depends on other wins only and is kept permanently. A failure can
    depend on such a repetition, which means on the failure of a position higher on the path that
    is still open. Such a failure is *provisional*. It is stored with the depth of the highest
    position that it depends on and is used only while that position is open. It becomes permanent
    if that position fails too and depends on nothing higher. All provisional failures below a
    position are dropped when the position is won.
    """

    def __init__(
        self, cards: int, trump_suit: int, *, draw_allowed: bool, first_limit: int
    ) -> None:
        super().__init__(cards, trump_suit, draw_allowed=draw_allowed, first_limit=first_limit)
        self.transfers = True
        self.draws_occur = True  # on any table, by R9.5
        self.path: dict[int, int] = {}  # the depth of each open position
        self.provisional: dict[int, int] = {}
        self.trail: list[int] = []  # the keys of `provisional`, in order of discovery
        # The depth of the highest open position that the failures found so far depend on.
        self.depends_on = FAR
        self.run_cards = self.full  # the cards in play in the current run
        self.longest_run = 0  # upper bound of n in this run, for the wins found so far
        self.run_depth = 0  # the bouts of this run before the position
        self.seen_at: dict[int, int] = {}  # run_depth at which a provisional failure was found
        self.horizon = 12
        self.horizon_hit = False
        self.longest_of_all = 0  # upper bound of n in any run, for all wins found
        self.root_run = 0  # upper bound of n for the wins confirmed at the root

    def abandon(self) -> None:
        """Discard the open positions and provisional answers of an interrupted search."""
        self.drop(0)
        self.path.clear()
        self.depends_on, self.run_cards, self.run_depth = FAR, self.full, 0
        self.longest_run = 0

    def widen(self) -> bool:
        """Double the search horizon. Return False if it exceeds the maximum."""
        self.abandon()
        self.horizon *= 2
        return self.horizon <= HORIZON_MAX

    def confirm(self, *, won: bool) -> None:
        """Record the run of a win. Raises HorizonReached if a failure depends on the horizon."""
        depends_on, self.depends_on = self.depends_on, FAR
        if won:
            self.root_run = max(self.root_run, self.longest_run)
        self.longest_run = 0
        if not won and depends_on == ON_HORIZON:
            raise HorizonReached

    # --- memo ----------------------------------------------------------------------------------

    def lead(self, attacker: int, defender: int, goal: int) -> bool:
        """See ``Search``. A position that repeats or is beyond the horizon is not won."""
        key = (attacker << self.width | defender) << 1 | goal
        answer = self.memo.get(key)
        if answer is None or self.provisional:
            return self.open_lead(key, attacker, defender, goal)
        if answer >> 1 > self.longest_run and attacker | defender == self.run_cards:
            self.longest_run = answer >> 1
        return answer & 1 == 1

    def open_lead(self, key: int, attacker: int, defender: int, goal: int) -> bool:
        """Compute ``lead`` with checks for repetition and for the horizon."""
        cards = attacker | defender
        run_cards, longest_run, run_depth = self.run_cards, self.longest_run, self.run_depth
        self.run_depth = run_depth + 1 if cards == run_cards else 0
        answer = self.recall(key, goal)
        if answer is None:
            answer = self.blocked(key, goal)
        if answer is None:
            self.count_visit()
            depends_on, mark = self.depends_on, len(self.trail)
            depth = self.path[key] = len(self.path)
            self.depends_on, self.run_cards, self.longest_run = FAR, cards, 0
            known = self.search_lead(attacker, defender, goal)
            del self.path[key]
            answer = self.settle(key, goal, int(known), self.longest_run + 1, depth, mark)
            self.depends_on = min(self.depends_on, depends_on)
            self.run_cards = run_cards
        self.run_depth = run_depth
        run = answer >> 1 if cards == run_cards else 0
        self.longest_run = max(longest_run, run)
        return answer & 1 == 1

    def choose_throw_in(
        self, attacker: int, defender: int, beaten: int, ranks: int, goal: int
    ) -> bool:
        """See ``Search``."""
        key = ((attacker << self.width | defender) << self.width | beaten) << 1 | goal
        answer = self.recall(key, goal)
        longest_run = self.longest_run
        if answer is None:
            self.count_visit()
            depends_on, mark = self.depends_on, len(self.trail)
            self.depends_on, self.longest_run = FAR, 0
            known = self.search_throw_in(attacker, defender, beaten, ranks, goal)
            answer = self.settle(key, goal, int(known), self.longest_run, FAR, mark)
            self.depends_on = min(self.depends_on, depends_on)
        self.longest_run = max(longest_run, answer >> 1)
        return answer & 1 == 1

    def recall(self, key: int, goal: int) -> int | None:
        """Return the known answer for ``key`` if it is valid here, packed as by ``settle``."""
        answer = self.memo.get(key)
        if answer is None:  # the answer for the other goal may decide this one
            other = self.memo.get(key ^ 1)
            return None if other is None or other & 1 == goal else other & 1
        if self.provisional:
            depends_on = self.provisional.get(key, FAR)
            if depends_on == ON_HORIZON and self.seen_at[key] > self.run_depth:
                return None  # from here the search can follow it further
            self.depends_on = min(self.depends_on, depends_on)
        return answer

    def blocked(self, key: int, goal: int) -> int | None:
        """Return a failure for a position on the path or beyond the horizon, else None."""
        depth = self.path.get(key)
        if depth is None:
            if self.run_depth <= self.horizon:
                return None
            depth = ON_HORIZON
            self.horizon_hit = True
        self.depends_on = min(self.depends_on, depth)
        return 1 - goal

    def settle(self, key: int, goal: int, known: int, run: int, depth: int, mark: int) -> int:
        """Store the answer for ``key``, found at ``depth``, and return it packed.

        Also updates the provisional answers found since ``mark``. Packed: bit 0 is the answer; the
        bits above are ``run`` if the answer is a win.
        """
        if known == goal:
            self.drop(mark)
            self.depends_on = FAR
            self.longest_of_all = max(self.longest_of_all, run)
            known |= run << 1
        elif self.depends_on >= depth:
            for inner in self.trail[mark:]:
                del self.provisional[inner]
            del self.trail[mark:]
            self.depends_on = FAR
        else:
            if key not in self.provisional:  # a table can repeat within its own search
                self.trail.append(key)
            self.provisional[key] = self.depends_on
            self.seen_at[key] = self.run_depth
            for inner in self.trail[mark:]:
                self.provisional[inner] = min(self.provisional[inner], self.depends_on)
        self.memo[key] = known
        return known

    def drop(self, mark: int) -> None:
        """Delete the provisional answers found since ``mark``."""
        for key in self.trail[mark:]:
            del self.provisional[key], self.memo[key]
        del self.trail[mark:]

    # --- rules ---------------------------------------------------------------------------------

    def is_certain(self, attacker: int, defender: int, goal: int) -> bool:
        """See ``Search``. The defender must also be unable to transfer any of the leads.

        With fewer than three cards no lead can be transferred: after it the attacker holds fewer
        cards than R6.2 requires.
        """
        if not super().is_certain(attacker, defender, goal):
            return False
        held = attacker.bit_count()
        self.longest_run = max(self.longest_run, held)
        if not self.transfers:
            return True
        beatable = 0
        for card in single_cards(attacker):
            if held < 3:
                return True
            if self.beats[card] & defender:
                beatable = card
                continue
            if self.mates[card] & defender:
                return False
            defender |= card  # taken
            held -= 1
        return held < 3 or not self.mates[beatable] & defender

    def transfer(self, attacker: int, defender: int, unbeaten: int, ranks: int, goal: int) -> bool:
        """See ``Search``. In R6.2 only the hand matters: at most four cards share a rank."""
        if not self.transfers or unbeaten.bit_count() >= attacker.bit_count():
            return False
        fitting = defender & ranks
        while fitting:
            card = fitting & -fitting
            fitting ^= card
            if not self.defend(defender ^ card, attacker, unbeaten | card, 0, ranks, 1 - goal):
                return True
        return False
