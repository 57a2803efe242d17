"""R11 Tricky tables, whole matches by hand.

In each of four roles one cheat is not detected, one cheat is caught, and one legal play is falsely
accused. Trumps are spades, nobody holds one, and the stock is empty. A lead is never illegal, so
the attacker cheats by throwing in.
"""

from __future__ import annotations

from durak.v1.events_pb2 import TookReason
from tests.domain.endgame_tables import endgame_table
from tests.domain.tables import LETTERS, Table


def hands(table: Table) -> list[str]:
    return [table.hand(letter) for letter in "ABC"]


def picked_up(table: Table, words: str) -> tuple[str, str, str]:
    """Challenge a play. Return the seat that picks up, the reason, and the next attack."""
    challenged, took, *_ = table.play(words)
    reason = TookReason.Name(took.took.reason).removeprefix("TOOK_REASON_")
    assert challenged.challenged.upheld == (reason == "CHEAT")
    return LETTERS[took.took.seat], reason, f"{table.attacker} attacks {table.defender}"


def test_R11_a_whole_match_with_cheats_of_the_attacker() -> None:
    table = endgame_table("6♥ 9♦ 9♣ Q♥", "7♥ 10♦ 6♣ 7♣ K♦", "8♣ 8♦ J♥", trump="♠", tricky=True)

    # A throws in 9♦ next to 6♥, B beats both, and nobody challenges it.
    table.play("A: 6♥", "A: 9♦", "B: 7♥ beats 6♥", "B: 10♦ beats 9♦", "A: pass", "C: pass")
    assert hands(table) == ["9♣ Q♥", "6♣ 7♣ K♦", "8♣ 8♦ J♥"]
    assert (table.attacker, table.defender) == ("B", "C")

    # B throws in K♦ next to 6♣, and the defender C challenges it.
    table.play("B: 6♣", "B: K♦")
    assert picked_up(table, "C: challenge K♦") == ("B", "CHEAT", "C attacks A")
    assert hands(table) == ["9♣ Q♥", "6♣ 7♣ K♦", "8♣ 8♦ J♥"]

    # C throws in 8♦ next to 8♣, which is legal. B challenges it.
    table.play("C: 8♣", "A: 9♣ beats 8♣", "C: 8♦")
    assert picked_up(table, "B: challenge 8♦") == ("B", "FALSE_ACCUSATION", "A attacks B")
    assert hands(table) == ["Q♥", "6♣ 7♣ 8♣ 9♣ 8♦ K♦", "J♥"]

    # All other plays are legal: A is out with Q♥, C with J♥, which Q♥ beats.
    table.play("A: Q♥", "B: take", "A: pass", "C: pass")
    assert (table.attacker, table.defender) == ("C", "B")
    table.play("C: J♥", "B: Q♥ beats J♥", "C: pass")
    assert (table.outcome, table.places) == ("durak B", [1, 3, 2])


def test_R11_a_whole_match_with_cheats_of_throwers() -> None:
    table = endgame_table("6♥ 9♣ K♦", "6♣ 7♥ 9♥ 10♦", "7♣ 8♣ 9♦", trump="♠", tricky=True)

    # C throws in 9♦ next to 6♥ and 7♥. B beats it.
    table.play("A: 6♥", "B: 7♥ beats 6♥", "C: 9♦", "B: 10♦ beats 9♦", "A: pass", "C: pass")
    assert hands(table) == ["9♣ K♦", "6♣ 9♥", "7♣ 8♣"]

    # A throws in K♦ next to 6♣ and 7♣, and the attacker B challenges it.
    table.play("B: 6♣", "C: 7♣ beats 6♣", "A: K♦")
    assert picked_up(table, "B: challenge K♦") == ("A", "CHEAT", "C attacks A")
    assert hands(table) == ["6♣ 7♣ 9♣ K♦", "9♥", "8♣"]

    # B throws in 9♥ next to 9♣, which is legal, and has no cards left. C challenges it.
    table.play("C: 8♣", "A: 9♣ beats 8♣", "B: 9♥")
    assert picked_up(table, "C: challenge 9♥") == ("C", "FALSE_ACCUSATION", "A attacks C")
    assert hands(table) == ["6♣ 7♣ K♦", "", "8♣ 9♣ 9♥"]

    # All other plays are legal: A can play K♦ and 6♣, then no more cards.
    table.play("A: K♦", "C: take", "A: pass")
    table.play("A: 6♣", "C: 8♣ beats 6♣", "A: pass")
    for card in ("9♥", "9♣", "K♦"):
        table.play(f"C: {card}", "A: take", "C: pass")
    assert (table.outcome, table.places) == ("durak A", [3, 1, 2])


def test_R11_a_whole_match_with_cheats_of_defenders() -> None:
    table = endgame_table("6♥ 9♣ J♦", "7♣ 10♣ 6♦ 8♦", "A♣ Q♥ K♥", trump="♠", tricky=True)

    # B "beats" 6♥ with a club, and all pass.
    table.play("A: 6♥", "B: 7♣ beats 6♥", "A: pass", "C: pass")
    assert hands(table) == ["9♣ J♦", "10♣ 6♦ 8♦", "A♣ Q♥ K♥"]

    # C "beats" 8♦ with a heart, and A, the third seat, challenges it. C is skipped.
    table.play("B: 8♦", "C: Q♥ beats 8♦")
    assert picked_up(table, "A: challenge Q♥") == ("C", "CHEAT", "A attacks B")
    assert hands(table) == ["9♣ J♦", "10♣ 6♦", "A♣ 8♦ Q♥ K♥"]

    # B beats 9♣ with 10♣, which is legal. C challenges it.
    table.play("A: 9♣", "B: 10♣ beats 9♣")
    assert picked_up(table, "C: challenge 10♣") == ("C", "FALSE_ACCUSATION", "B attacks C")
    assert hands(table) == ["J♦", "6♦", "9♣ 10♣ A♣ 8♦ Q♥ K♥"]

    # All other plays are legal: B is out with 6♦, then C has the higher cards.
    table.play("B: 6♦", "C: 8♦ beats 6♦", "A: pass", "B: pass")
    for card in ("Q♥", "K♥", "9♣", "10♣", "A♣"):
        table.play(f"C: {card}", "A: take", "C: pass")
    assert (table.outcome, table.places) == ("durak A", [3, 1, 2])


def test_R11_a_whole_match_with_illegal_transfers() -> None:
    table = endgame_table(
        "6♥ J♦ K♣", "6♣ 9♣ 7♦ Q♦", "10♣ 8♦ 7♥ Q♥ K♥", trump="♠", tricky=True, transfer=True
    )

    # B transfers 6♥ with a nine. C beats both cards, and all pass.
    table.play("A: 6♥", "B: transfer 9♣", "C: 7♥ beats 6♥", "C: 10♣ beats 9♣")
    table.play("A: pass", "B: pass")
    assert hands(table) == ["K♣ J♦", "6♣ 7♦ Q♦", "8♦ Q♥ K♥"]
    assert (table.attacker, table.defender) == ("C", "A")

    # A transfers 8♦ with a jack, and C, who led, challenges it. B is the defender and attacks next.
    table.play("C: 8♦", "A: transfer J♦")
    assert (table.attacker, table.defender) == ("A", "B")
    assert picked_up(table, "C: challenge J♦") == ("A", "CHEAT", "B attacks C")
    assert hands(table) == ["K♣ 8♦ J♦", "6♣ 7♦ Q♦", "Q♥ K♥"]

    # C transfers Q♦ with Q♥, which is legal. B challenges it.
    table.play("B: Q♦", "C: transfer Q♥")
    assert picked_up(table, "B: challenge Q♥") == ("B", "FALSE_ACCUSATION", "A attacks B")
    assert hands(table) == ["K♣ 8♦ J♦", "6♣ 7♦ Q♦ Q♥", "K♥"]

    # All other plays are legal: C is out with K♥ next to K♣. A and B play on.
    table.play("A: K♣", "B: take", "C: K♥", "A: pass", "C: pass")
    table.play("A: 8♦", "B: Q♦ beats 8♦", "A: pass")
    for card in ("K♣", "K♥"):
        table.play(f"B: {card}", "A: take", "B: pass")
    table.play("B: Q♥", "A: K♥ beats Q♥", "B: pass")
    for card in ("J♦", "K♣"):
        table.play(f"A: {card}", "B: take", "A: pass")
    assert (table.outcome, table.places) == ("durak B", [2, 3, 1])
