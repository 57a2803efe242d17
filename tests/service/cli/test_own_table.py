"""`durak remove` and private tables, against a server."""

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


def test_a_private_table_is_joined_with_the_command_that_it_prints(
    terminal: Terminal, server: Server
) -> None:
    place = ("--server", server.address, "--name")
    anna = terminal.start("play", *place, "anna", "--bots", "0", "--private")
    words = wait_for(anna, "--link ")[-1].split()
    assert words[:2] == ["durak", "play"]
    match_id = words[words.index("--match") + 1]
    stranger = terminal.durak("play", *place, "boris", "--match", match_id)
    assert stranger.returncode == 1
    assert "This table is private" in stranger.stderr
    assert match_id not in terminal.durak("play", *place, "boris", "--list").stdout
    boris = terminal.start(*words[1:], "--name", "boris")
    wait_for(boris, "anna")
    wait_for(anna, "boris sits down on seat 1")
    kill(boris)
    kill(anna)
