"""`durak remove`, against a server."""

from __future__ import annotations

from tests.terminal import Server, Terminal, kill, wait_for


def test_R3_0_the_player_who_opened_a_table_removes_another_one(
    terminal: Terminal, server: Server
) -> None:
    place = ("--server", server.address, "--name")
    anna = terminal.start("play", *place, "anna", "--seats", "3", "--bots", "0")
    match_id = wait_for(anna, "--match ")[-1].split()[-1]
    boris = terminal.start("play", *place, "boris", "--match", match_id)
    wait_for(boris, "boris")
    by_boris = terminal.durak("remove", match_id, "anna", *place, "boris")
    assert by_boris.returncode == 1
    done = terminal.durak("remove", match_id, "boris", *place, "anna")
    assert (done.returncode, done.stdout.strip()) == (0, "anna, seat 1, seat 2")
    wait_for(anna, "boris is removed from seat 1")
    kill(boris)
    again = terminal.durak("play", *place, "boris", "--match", match_id)
    assert again.returncode == 1
    assert "removed you from it" in again.stderr
    kill(anna)
