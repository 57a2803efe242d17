"""`durak coins`, `grant`, `series` and `ratings`, with matches played for a stake."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.terminal import Server, Terminal, kill, wait_for

ALWAYS_THE_FIRST = "1\n" * 2000
RESULT = r"is the durak|A draw between"


def call(terminal: Terminal, server: Server, *words: str) -> list[str]:
    done = terminal.durak(*words, "--server", server.address)
    assert done.returncode == 0, done.stderr
    return [plain(line) for line in done.stdout.splitlines()]


def plain(line: str) -> str:
    """Return a line with its numbers without separators: 1000, not 1,000."""
    return re.sub(r"(?<=\d)[,.\u00a0\u202f](?=\d{3}\b)", "", line)


def answers(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write(ALWAYS_THE_FIRST)
    process.stdin.flush()


def played(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Return the two lines about coins after a match: the payout and the balance."""
    wait_for(process, RESULT)
    lines = wait_for(process, r"^Coins: ")
    kill(process)
    payout = next(line for line in map(plain, lines) if line.startswith("Coins paid out: "))
    return payout, plain(lines[-1])


def test_coins_series_and_ratings_from_the_first_grant_to_the_rematch(
    terminal: Terminal, server: Server
) -> None:
    none = "and 0 in stakes of matches that have not ended."
    assert call(terminal, server, "coins", "--name", "anna") == [
        f"Coins: 1000, {none}",
        "    1  +1000      = 1000      opening balance",
    ]
    assert call(
        terminal, server, "grant", "anna", "500", "--reason", "a prize", "--name", "op"
    ) == [f"Coins: 1500, {none}"]

    table = ("--stake", "300", "--seats", "2", "--series")
    anna = terminal.start("play", "--server", server.address, "--name", "anna", *table)
    match_id = wait_for(anna, "--match ")[-1].split()[-1]
    boris = terminal.start(
        "play", "--server", server.address, "--name", "boris", "--match", match_id
    )
    for player in (anna, boris):
        answers(player)
    results = [played(player) for player in (anna, boris)]
    assert results[0][0] == results[1][0], "both see the same payout"
    shares = re.fullmatch(r"Coins paid out: anna (\d+), boris (\d+)\.", results[0][0])
    assert shares is not None
    assert int(shares[1]) + int(shares[2]) == 600
    now = {
        "anna": 1200 + int(shares[1]),
        "boris": 700 + int(shares[2]),
    }
    for (_, balance), coins in zip(results, now.values(), strict=True):
        assert balance == f"Coins: {coins}, {none}"
    listed = call(terminal, server, "coins", "--name", "boris", "--transfers", "100")
    assert listed[0] == f"Coins: {now['boris']}, {none}"
    assert listed[-2].split()[:4] == ["2", "-300", "=", "700"]
    assert listed[-2].endswith(f"stake  {match_id}")

    anna = terminal.start("play", "--server", server.address, "--name", "anna",
                          "--rematch", match_id)  # fmt: skip
    wait_for(anna, f"durak play --rematch {match_id}")  # the command for the others
    assert call(terminal, server, "coins", "--name", "anna", "--transfers", "0") == [
        f"Coins: {now['anna'] - 300}, and 300 in stakes of matches that have not ended."
    ]
    boris = terminal.start("play", "--server", server.address, "--name", "boris",
                           "--rematch", match_id)  # fmt: skip
    for player in (anna, boris):
        answers(player)
    wait_for(anna, RESULT)
    lines = wait_for(anna, "^durak series ")
    again = lines[-5].split()[-1]
    assert again != match_id
    who = f"--server {server.address} --name anna"
    assert lines[-6:] == [
        "See which endgame moves gave the result away:",
        f"durak review {who} {again}",
        "Play again with:",
        f"durak play {who} --rematch {again}",
        "See the score of the series:",
        f"durak series {who} {match_id}",
    ]
    wait_for(boris, "^durak series ")
    kill(anna)
    kill(boris)

    while not (series := call(terminal, server, "series", match_id))[0].startswith(
        "Matches played out: 2,"
    ):
        assert series[0] in {f"Matches played out: {n}, of them draws: {d}"
                             for n in range(2) for d in range(n + 1)}  # fmt: skip
    draws = int(series[0].split()[-1])
    counted = [re.fullmatch(r"(\w+): (\d) won, (\d) lost", line) for line in series[1:]]
    assert [row and row[1] for row in counted] == ["anna", "boris"]
    assert sum(int(row[2]) for row in counted if row) == 2 - draws
    assert sum(int(row[3]) for row in counted if row) == 2 - draws

    *ratings, numbers = call(terminal, server, "ratings")
    assert {line.split()[2] for line in ratings} == {"anna:", "boris:"}
    assert "Everybody starts with 1000 points. A match adds or takes at most 32." in numbers
    assert "Bots count as 800 (easy), 1000 (normal), 1200 (hard)" in numbers


def test_R12_7_a_staked_table_has_no_bots(terminal: Terminal, server: Server) -> None:
    refused = terminal.durak("play", "--server", server.address, "--stake", "5", "--bots", "1")
    assert refused.returncode == 2
    assert "bots do not sit at staked tables" in refused.stderr

    anna = terminal.start("play", "--server", server.address, "--stake", "5", "--name", "anna")
    wait_for(anna, "^Seats still free: 1")
    kill(anna)


def test_a_grant_is_listed_with_its_reason(terminal: Terminal, server: Server) -> None:
    call(terminal, server, "grant", "anna", "5", "--reason", "a prize", "--name", "op")
    for role in ("auditor", "operator"):
        (line,) = call(terminal, server, "admin", "log", "--by", "op", "--role", role)
        assert re.fullmatch(
            r"1  \S+Z  op  coins-granted  grant_id=\S+ player_id=anna coins=5  a prize", line
        ), line
    assert call(terminal, server, "admin", "log", "--by", "nobody") == []


def test_only_operators_can_grant_coins(terminal: Terminal, server: Server) -> None:
    refused = terminal.durak(
        "grant",
        "anna",
        "5",
        "--reason",
        "a prize",
        "--role",
        "player",
        "--server",
        server.address,
        "--name",
        "anna",
    )
    assert refused.returncode == 1
    assert "Your account may not do this." in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("language", ["ru", "el"])
def test_coins_and_ratings_come_in_other_languages(
    terminal: Terminal, server: Server, language: str
) -> None:
    spoken = {"ru": ("Монеты: 1000", "начальный баланс", "очков"),
              "el": ("Μάρκες: 1000", "αρχικό υπόλοιπο", "πόντοι")}[language]  # fmt: skip
    coins = call(terminal, server, "coins", "--name", "anna", "--language", language)
    assert coins[0].startswith(spoken[0])
    assert coins[1].endswith(spoken[1])
    assert spoken[2] in call(terminal, server, "ratings", "--language", language)[0]
