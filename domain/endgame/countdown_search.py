"""Proof search close to the fifty-bout draw (R9.5), with a count of the bouts."""

from __future__ import annotations

from domain.endgame.transfer_search import HorizonReached, TransferSearch


class CountdownSearch(TransferSearch):
    """Search that counts the bouts without a discard up to the draw of R9.5.

    It counts only in the run that contains the root. Each bout of that run lowers ``bouts_left``,
    so the run ends, and its positions have a separate memo for each count. After a discard the
    search continues like `TransferSearch`. It supports tables with and without transfers.
    """

    def count_down(self, bouts_left: int, *, transfers: bool) -> None:
        """Start with ``bouts_left`` bouts left before the draw, the current one included."""
        self.transfers = transfers
        self.bouts_left = self.bouts_at_root = bouts_left
        self.later_memo = self.memo
        self.memos: dict[int, dict[int, int]] = {}
        self.memo = self.memos.setdefault(bouts_left, {})

    def abandon(self) -> None:
        """Discard the state of an interrupted search, including the memos of the counted run."""
        self.memo = self.later_memo
        super().abandon()
        self.bouts_left = self.bouts_at_root
        self.memos.clear()
        self.memo = self.memos.setdefault(self.bouts_left, {})
        self.horizon_hit = False

    def confirm(self, *, won: bool) -> None:
        """See ``TransferSearch``. Any failure may depend on the horizon once it was reached."""
        if not won and self.horizon_hit:
            raise HorizonReached

    def lead(self, attacker: int, defender: int, goal: int) -> bool:
        """See ``Search``. A bout of the counted run lowers ``bouts_left``."""
        outer, left = self.memo, self.bouts_left
        if attacker | defender != self.full:
            self.memo = self.later_memo
            known = super().lead(attacker, defender, goal)
        elif left == 1:
            return not goal  # the fiftieth bout: a draw
        else:
            self.bouts_left = left - 1
            self.memo = self.memos.setdefault(left - 1, {})
            known = super(TransferSearch, self).lead(attacker, defender, goal)
            self.bouts_left = left
        self.memo = outer
        return known

    def is_certain(self, attacker: int, defender: int, goal: int) -> bool:
        """See ``TransferSearch``. There must also be enough bouts to lead every card."""
        if attacker | defender == self.full and attacker.bit_count() >= self.bouts_left:
            return False
        return super().is_certain(attacker, defender, goal)
