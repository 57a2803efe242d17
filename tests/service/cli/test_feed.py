"""`durak feed` in a terminal, and its lines for every kind of news in every language."""

from __future__ import annotations

from pathlib import Path

import pytest

from durak.v1 import dispute_service_pb2 as disputes
from durak.v1 import events_pb2 as events
from durak.v1 import feed_service_pb2 as api
from durak.v1.match_service_pb2 import MatchSummary
from durak.v1.settings_pb2 import BotLevel
from durak.v1.wallet_service_pb2 import Transfer, TransferKind
from service.cli.feed import news_line
from service.render.texts import translator
from service.text.localisation import LANGUAGES
from tests.terminal import Server, Terminal, kill, wait_for

NEWS = [
    api.PlayerNews(your_turn=api.YourTurn(match_id="m")),
    api.PlayerNews(invitation=MatchSummary(match_id="m", owner_id="ann")),
    api.PlayerNews(rematch_offered=api.RematchOffered(match_id="m")),
    api.PlayerNews(seat_taken=api.TableSeatTaken(match_id="m", player_id="ann")),
    api.PlayerNews(seat_taken=api.TableSeatTaken(match_id="m", bot_level=BotLevel.BOT_LEVEL_EASY)),
    api.PlayerNews(seat_vacated=api.TableSeatVacated(match_id="m", player_id="ann")),
    api.PlayerNews(seat_vacated=api.TableSeatVacated(match_id="m", player_id="ann", removed=True)),
    api.PlayerNews(dealt=api.TableDealt(match_id="m")),
    *(
        api.PlayerNews(
            match_over=api.MatchOver(match_id="m", result=events.Finished(outcome=outcome))
        )
        for outcome in events.Outcome.values()[1:]
    ),
    *(
        api.PlayerNews(dispute=api.DisputeNews(dispute_id="d", match_id="m", status=status))
        for status in disputes.DisputeStatus.values()[1:]
    ),
    *(
        api.PlayerNews(coins_moved=Transfer(kind=kind, coins=5))
        for kind in TransferKind.values()[1:]
    ),
    api.PlayerNews(rating_changed=api.RatingChanged(match_id="m", points=1200)),
]


def test_the_examples_have_every_kind_of_news() -> None:
    kinds = {field.name for field in api.PlayerNews.DESCRIPTOR.oneofs_by_name["kind"].fields}
    assert {one.WhichOneof("kind") for one in NEWS} == kinds


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_news_has_a_line_of_its_own(language: str) -> None:
    lines = [news_line(one, translator(language)) for one in NEWS]
    assert all(line.strip() for line in lines)
    assert len(set(lines)) >= len(lines) - 1  # both directions of a correction have one text


def test_a_text_of_another_player_cannot_control_the_terminal() -> None:
    taken = api.TableSeatTaken(match_id="m", player_id="eve", display_name="\x1b[2J\rEve")
    line = news_line(api.PlayerNews(seat_taken=taken), translator("en"))
    assert "\x1b" not in line
    assert "\r" not in line


def test_a_feed_goes_on_where_the_last_run_ended(
    terminal: Terminal, server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "position"
    words = ("feed", "--server", server.address, "--name", "anna", "--position", str(file))
    feed = terminal.start(*words)
    while not file.exists():
        assert feed.poll() is None
    begun = file.read_text()
    player = terminal.start("play", "--server", server.address, "--name", "anna")
    wait_for(feed, r"anna sat down on seat 0")
    while file.read_text() == begun:  # the position is kept after its news are printed
        assert feed.poll() is None
    kill(feed)
    wait_for(player, r"Ctrl-C|^>|1\b")
    assert player.stdin is not None
    player.stdin.write("1\n" * 500)
    player.stdin.flush()
    again = terminal.start(*words)
    lines = wait_for(again, r"The match is over|ended in a draw")
    assert not any("anna sat down" in line for line in lines)
    kill(again)
    kill(player)


def test_a_file_without_a_position_is_refused_with_an_explanation(
    terminal: Terminal, server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "position"
    file.write_text("not a position")
    done = terminal.durak("feed", "--server", server.address, "--position", str(file))
    assert done.returncode == 1
    assert "not a position of your feed" in done.stderr
