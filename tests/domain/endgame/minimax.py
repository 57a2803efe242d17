"""A plain minimax of endgames, from R4 to R9 of the rules: no memo, no bit masks, no pruning.

It shares no code with the solver. Cards are (suit, rank) pairs. While there are unbeaten cards both
seats may act, and the defender acts first. With ``eager`` the attacker is asked first, one card at
a time, and then the defender must act.

If a bout starts exactly like an earlier one of the same line with no discard in between, the line
is a draw: endless repetition ends by R9.5, and a seat that can win at all can win without repeating
a position. With ``counted`` the bouts are counted up to fifty instead.
"""

from __future__ import annotations

from typing import NamedTuple

Card = tuple[int, int]
Hand = frozenset[Card]


class Table(NamedTuple):
    """The relevant settings."""

    trump: int
    transfer: bool
    draws: bool
    counted: bool = False
    eager: bool = False


class Bout(NamedTuple):
    """A bout in progress. ``me`` attacks, ``cap`` is the maximum number of attack cards."""

    me: int
    attacker: Hand
    defender: Hand
    cap: int
    five: bool
    quiet: int
    unbeaten: Hand = frozenset()
    covered: Hand = frozenset()  # attack cards that are beaten
    covers: Hand = frozenset()  # defence cards
    taking: bool = False
    waited: bool = False


Line = frozenset[tuple[int, Hand, Hand]]
Key = tuple[str, Card | None, Card | None]


def beat(low: Card, high: Card, trump: int) -> bool:
    """Whether ``high`` beats ``low`` (R1.3)."""
    if low[0] == high[0]:
        return high[1] > low[1]
    return high[0] == trump


def new_bout(me: int, attacker: Hand, defender: Hand, *, five: bool, quiet: int) -> Bout:
    """A bout at its start, with its cap (R4.3)."""
    return Bout(me, attacker, defender, min(len(defender), 5 if five else 6), five, quiet)


def finish(b: Bout, table: Table, *, beaten: bool) -> Bout | int | None:
    """The next bout, the seat that won, or None for a draw (R7, R9)."""
    you = 1 - b.me
    if beaten:
        if not b.attacker and not b.defender:
            return None if table.draws else b.me
        if not b.attacker:
            return b.me
        if not b.defender:
            return you
        return new_bout(you, b.defender, b.attacker, five=False, quiet=0)
    pile = b.defender | b.unbeaten | b.covered | b.covers
    if not b.attacker:
        return b.me
    if b.quiet + 1 == 50:
        return None
    return new_bout(b.me, b.attacker, pile, five=b.five, quiet=b.quiet + 1)


def settled(b: Bout, table: Table) -> Bout | int | None:
    """The bout, closed if R7.3 closes it."""
    attacks = len(b.unbeaten) + len(b.covered)
    full = attacks >= b.cap or not b.attacker
    if b.taking and full:
        return finish(b, table, beaten=False)
    if not b.unbeaten and full:
        return finish(b, table, beaten=True)
    return b


def mover(b: Bout) -> int:
    return 1 - b.me if b.waited else b.me


def successors(b: Bout, table: Table) -> dict[Key, Bout | int | None]:
    """Every move of the seat to move, with its successor (R4 to R7)."""
    out: dict[Key, Bout | int | None] = {}
    on_table = b.unbeaten | b.covered | b.covers
    ranks = {rank for _, rank in on_table}
    attacks = len(b.unbeaten) + len(b.covered)
    if not b.waited:
        return attacks_and_passes(b, table)
    out.update(defences(b, table))
    most = min(len(b.attacker), 5 if b.five else 6)
    if table.transfer and not b.covered and attacks + 1 <= most:
        for c in sorted(b.defender):
            if c[1] in ranks:
                rest, table_cards = b.defender - {c}, b.unbeaten | {c}
                out["transfer", c, None] = Bout(
                    1 - b.me, rest, b.attacker, most, b.five, b.quiet, table_cards
                )
    out["take", None, None] = settled(b._replace(taking=True, waited=False), table)
    return out


def attacks_and_passes(b: Bout, table: Table) -> dict[Key, Bout | int | None]:
    """The attacker's moves (R4.1, R4.3, R5.1, R5.3)."""
    out: dict[Key, Bout | int | None] = {}
    on_table = b.unbeaten | b.covered | b.covers
    ranks = {rank for _, rank in on_table}
    if len(b.unbeaten) + len(b.covered) < b.cap:
        for c in sorted(b.attacker):
            if not on_table or c[1] in ranks:
                after = b._replace(attacker=b.attacker - {c}, unbeaten=b.unbeaten | {c})
                out["attack", c, None] = settled(after, table)
    if b.taking:
        out["pass", None, None] = finish(b, table, beaten=False)
    elif on_table and not b.unbeaten:
        out["pass", None, None] = finish(b, table, beaten=True)
    elif on_table:
        out["wait", None, None] = b._replace(waited=True)
    return out


def defences(b: Bout, table: Table) -> dict[Key, Bout | int | None]:
    """The defender's moves that beat a card (R4.2)."""
    out: dict[Key, Bout | int | None] = {}
    for target in sorted(b.unbeaten):
        for c in sorted(b.defender):
            if beat(target, c, table.trump):
                after = b._replace(
                    defender=b.defender - {c},
                    unbeaten=b.unbeaten - {target},
                    covered=b.covered | {target},
                    covers=b.covers | {c},
                    waited=False,
                )
                out["defend", c, target] = settled(after, table)
    return out


def resumed(state: Bout | int | None, table: Table) -> Bout | int | None:
    """The state with the seat to move that is asked first."""
    if isinstance(state, Bout) and state.unbeaten and not state.taking and not table.eager:
        return state._replace(waited=True)
    return state


def value(state: Bout | int | None, table: Table, seat: int, line: Line = frozenset()) -> int:
    """The value for ``seat``: 1, 0 or -1."""
    state = resumed(state, table)
    if state is None:
        return 0
    if isinstance(state, int):
        return 1 if state == seat else -1
    if not (state.unbeaten or state.covered):
        if not state.quiet:
            line = frozenset()
        here = state.me, state.attacker, state.defender
        if not table.counted:
            if here in line:
                return 0
            line |= {here}
    best = -2
    sign = 1 if mover(state) == seat else -1
    for after in successors(state, table).values():
        best = max(best, sign * value(after, table, seat, line))
        if best == 1:
            break
    return sign * best
