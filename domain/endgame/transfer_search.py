"""Search where positions can come back: transfers, and the fifty-bout draw (R9.5).

With transfers a take can hand back what the bout before it took, so a run of bouts without a
discard may go round.
"""

from __future__ import annotations

from domain.endgame.position import single_cards
from domain.endgame.search import FAR, Search

ON_HORIZON = -1
"""In place of the depth of a position: rests on the horizon."""

HORIZON_MAX = 24
"""Furthest horizon, in bouts of one run; the stack of calls allows no more."""


class HorizonReached(Exception):  # noqa: N818 no error: the question needs a wider horizon
    """The question could not be answered within the horizon."""


class TransferSearch(Search):
    """Search with transfers (perevodnoy), where a run without discards that never ends is a draw.

    Why this is right under R9.5. Call a win *forced in n* if against every defence the run before
    the next discard (or the end) has at most n bouts that end in a take, and so for every run after
    it. (a) A seat that can force a win under R9.5 can do so here: the same moves win, and within
    fifty bouts. So what is a draw here is a draw there. (b) A win forced in n with ``quiet_bouts``
    + n below fifty (and n below fifty in every later run, where the counter starts from 0) is one
    under R9.5 too: the counter never gets there. ``root_run`` is an upper bound of n, and the
    caller turns to ``CountdownSearch``, which counts, when it is not small enough.

    A question is "can this seat force a win?", so a position that comes back on the path fails for
    that seat: going round is no win. A win that has been found rests on other wins only and is kept
    for good. A failure may rest on such a return, that is, on the failure of a position above which
    is still open. It is *tainted*: kept with the depth of the highest position that it rests on,
    used only while that position is open, and made permanent when that position fails as well and
    rests on nothing above; all tainted failures below a position are dropped when it is won.
    """

    def __init__(
        self, cards: int, trump_suit: int, *, draw_allowed: bool, first_limit: int
    ) -> None:
        super().__init__(cards, trump_suit, draw_allowed=draw_allowed, first_limit=first_limit)
        self.transfers = True
        self.draws_occur = True  # by R9.5 on any table
        self.path: dict[int, int] = {}  # open positions and their depth
        self.tainted: dict[int, int] = {}
        self.trail: list[int] = []  # keys of tainted, in the order in which they were found
        self.rests_on = FAR  # depth of the highest open position behind the failures met so far
        self.run_cards = self.full  # cards in play in the run of the innermost open position
        self.longest_run = 0  # upper bound of n in that run, for the wins met so far
        self.run_depth = 0  # bouts of the run that lie above the position
        self.seen_at: dict[int, int] = {}  # run_depth where a tainted failure was found
        self.horizon = 12
        self.horizon_hit = False
        self.longest_of_all = 0  # of the runs of all wins found
        self.root_run = 0  # upper bound of n for the wins confirmed at the root

    def abandon(self) -> None:
        """Forget what an interrupted search left open."""
        self.drop(0)
        self.path.clear()
        self.rests_on, self.run_cards, self.run_depth = FAR, self.full, 0
        self.longest_run = 0

    def widen(self) -> bool:
        """Look further along runs from now on. False if that has been done as far as it goes."""
        self.abandon()
        self.horizon *= 2
        return self.horizon <= HORIZON_MAX

    def confirm(self, *, won: bool) -> None:
        """Note the run of the win just found. Raises HorizonReached if a failure rests on that."""
        rests_on, self.rests_on = self.rests_on, FAR
        if won:
            self.root_run = max(self.root_run, self.longest_run)
        self.longest_run = 0
        if not won and rests_on == ON_HORIZON:
            raise HorizonReached

    # Memory

    def lead(self, attacker: int, defender: int, goal: int) -> bool:
        """See ``Search``; a position that comes back, or lies beyond the horizon, is not won."""
        key = (attacker << self.width | defender) << 1 | goal
        answer = self.memo.get(key)
        if answer is None or self.tainted:
            return self.open_lead(key, attacker, defender, goal)
        if answer >> 1 > self.longest_run and attacker | defender == self.run_cards:
            self.longest_run = answer >> 1
        return answer & 1 == 1

    def open_lead(self, key: int, attacker: int, defender: int, goal: int) -> bool:
        """``lead`` with all that can happen on the way."""
        cards = attacker | defender
        run_cards, longest_run, run_depth = self.run_cards, self.longest_run, self.run_depth
        self.run_depth = run_depth + 1 if cards == run_cards else 0
        answer = self.recall(key, goal)
        if answer is None:
            answer = self.blocked(key, goal)
        if answer is None:
            self.count()
            rests_on, mark = self.rests_on, len(self.trail)
            depth = self.path[key] = len(self.path)
            self.rests_on, self.run_cards, self.longest_run = FAR, cards, 0
            known = self.search_lead(attacker, defender, goal)
            del self.path[key]
            answer = self.settle(key, goal, int(known), self.longest_run + 1, depth, mark)
            self.rests_on = min(self.rests_on, rests_on)
            self.run_cards = run_cards
        self.run_depth = run_depth
        run = answer >> 1 if cards == run_cards else 0
        self.longest_run = max(longest_run, run)
        return answer & 1 == 1

    def open_throw(self, attacker: int, defender: int, beaten: int, ranks: int, goal: int) -> bool:
        """See ``Search``."""
        key = ((attacker << self.width | defender) << self.width | beaten) << 1 | goal
        answer = self.recall(key, goal)
        longest_run = self.longest_run
        if answer is None:
            self.count()
            rests_on, mark = self.rests_on, len(self.trail)
            self.rests_on, self.longest_run = FAR, 0
            known = self.search_throw(attacker, defender, beaten, ranks, goal)
            answer = self.settle(key, goal, int(known), self.longest_run, FAR, mark)
            self.rests_on = min(self.rests_on, rests_on)
        self.longest_run = max(longest_run, answer >> 1)
        return answer & 1 == 1

    def recall(self, key: int, goal: int) -> int | None:
        """What is known of ``key`` and may be used here, as ``settle`` packs it."""
        answer = self.memo.get(key)
        if answer is None:  # a win is no less than a draw: a failure may follow from the other goal
            other = self.memo.get(key ^ 1)
            return None if other is None or other & 1 == goal else other & 1
        if self.tainted:
            rests_on = self.tainted.get(key, FAR)
            if rests_on == ON_HORIZON and self.seen_at[key] > self.run_depth:
                return None  # it can be followed further from here
            self.rests_on = min(self.rests_on, rests_on)
        return answer

    def blocked(self, key: int, goal: int) -> int | None:
        """The failure of a position on the path or beyond the horizon, None for any other."""
        depth = self.path.get(key)
        if depth is None:
            if self.run_depth <= self.horizon:
                return None
            depth = ON_HORIZON
            self.horizon_hit = True
        self.rests_on = min(self.rests_on, depth)
        return 1 - goal

    def settle(self, key: int, goal: int, known: int, run: int, depth: int, mark: int) -> int:
        """Keep the answer for ``key``, found at ``depth``, and see to the tainted since ``mark``.

        Packed: bit 0 is the answer, and above it stands ``run`` if that is a win.
        """
        if known == goal:
            self.drop(mark)
            self.rests_on = FAR
            self.longest_of_all = max(self.longest_of_all, run)
            known |= run << 1
        elif self.rests_on >= depth:
            for inner in self.trail[mark:]:
                del self.tainted[inner]
            del self.trail[mark:]
            self.rests_on = FAR
        else:
            if key not in self.tainted:  # a table can come back within its own search
                self.trail.append(key)
            self.tainted[key] = self.rests_on
            self.seen_at[key] = self.run_depth
            for inner in self.trail[mark:]:
                self.tainted[inner] = min(self.tainted[inner], self.rests_on)
        self.memo[key] = known
        return known

    def drop(self, mark: int) -> None:
        """Forget the tainted answers found since ``mark``."""
        for key in self.trail[mark:]:
            del self.tainted[key], self.memo[key]
        del self.trail[mark:]

    # Rules

    def certain(self, attacker: int, defender: int, goal: int) -> bool:
        """As without transfers, if the defender cannot transfer the single leads on the way.

        With the last two cards nobody can: after the lead the attacker holds fewer than R6.2 asks.
        Nor can the rank laid last be transferred: its second card, added at once, forbids it.
        """
        if not super().certain(attacker, defender, goal):
            return False
        held = attacker.bit_count()
        self.longest_run = max(self.longest_run, held)
        if not self.transfers:
            return True
        for card in single_cards(attacker):
            if held < 3:
                return True
            if not self.beats[card] & defender:
                if self.mates[card] & defender:
                    return False
                defender |= card  # taken
                held -= 1
        return True

    def faced(
        self, attacker: int, defender: int, unbeaten: int, beaten: int, ranks: int, goal: int
    ) -> bool:
        """Defender, with cards to beat, if the attacker may still add some first.

        Adding is searched only while it can matter: before the first beat, against a defender who
        can transfer. At most four cards lie there by then, so R6.2 comes down to the hands.
        """
        if not self.answer(attacker, defender, unbeaten, beaten, ranks, goal):
            return False
        if beaten or not (attacker & ranks and defender & ranks and self.transfers):
            return True
        if not unbeaten.bit_count() < min(attacker.bit_count(), defender.bit_count()):
            return True
        return all(
            self.faced(attacker ^ card, defender, unbeaten | card, 0, ranks, goal)
            for card in single_cards(attacker & ranks)
        )

    def transfer(self, attacker: int, defender: int, unbeaten: int, ranks: int, goal: int) -> bool:
        """Defender, who transfers (R6). As in ``faced``, R6.2 comes down to the hand."""
        if not self.transfers or unbeaten.bit_count() >= attacker.bit_count():
            return False
        fitting = defender & ranks
        while fitting:
            card = fitting & -fitting
            fitting ^= card
            if not self.faced(defender ^ card, attacker, unbeaten | card, 0, ranks, 1 - goal):
                return True
        return False


class CountdownSearch(TransferSearch):
    """Search that counts the bouts without a discard up to the draw of R9.5.

    It counts in the run that the root stands in: each bout of it lowers ``bouts_left``, so the run
    ends, and its positions are remembered for each count apart. After a discard the count starts
    anew and the search goes on as its base does.
    Plays both kinds of durak.
    """

    def count_down(self, bouts_left: int, *, transfers: bool) -> None:
        """Start in a bout that is one of the last ``bouts_left`` before the draw."""
        self.transfers = transfers
        self.bouts_left = self.bouts_at_root = bouts_left
        self.later_memo = self.memo
        self.memos: dict[int, dict[int, int]] = {}
        self.memo = self.memos.setdefault(bouts_left, {})

    def abandon(self) -> None:
        """Forget what an interrupted search left open, and the counted run."""
        self.memo = self.later_memo
        super().abandon()
        self.bouts_left = self.bouts_at_root
        self.memos.clear()
        self.memo = self.memos.setdefault(self.bouts_left, {})
        self.horizon_hit = False

    def confirm(self, *, won: bool) -> None:
        """See ``TransferSearch``; the counted run does not tell what rests on the horizon."""
        if not won and self.horizon_hit:
            raise HorizonReached

    def lead(self, attacker: int, defender: int, goal: int) -> bool:
        """See ``Search``; a bout of the run at the root is counted."""
        outer, left = self.memo, self.bouts_left
        if attacker | defender != self.full:
            self.memo = self.later_memo
            known = super().lead(attacker, defender, goal)
        elif left == 1:
            return not goal  # that was the fiftieth
        else:
            self.bouts_left = left - 1
            self.memo = self.memos.setdefault(left - 1, {})
            known = super(TransferSearch, self).lead(attacker, defender, goal)
            self.bouts_left = left
        self.memo = outer
        return known

    def certain(self, attacker: int, defender: int, goal: int) -> bool:
        """As in the base, if there are bouts enough to lead every card."""
        if attacker | defender == self.full and attacker.bit_count() >= self.bouts_left:
            return False
        return super().certain(attacker, defender, goal)
