"""A typed number means the move shown beside it, whatever other players do meanwhile."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import select
import signal
from collections.abc import Sequence
from pathlib import Path

from grpc import aio

from durak.v1.cards_pb2 import Card
from durak.v1.table_pb2 import AttackMove, Move, TableView
from service.cli.play.menu import REACTION_SECONDS, Menu, MenuHistory
from service.render.moves import Choice, list_choices, parse_number
from service.render.table import on_table, seat_names
from service.render.texts import translator
from service.server import Running, running
from tests.conftest import Database
from tests.service.cli.play.test_answers import Person, config, playing
from tests.service.playing import Player, easy_move, has_move
from tests.terminal import COMMAND

OWN_MOVE = r"ann (leads|beats|throws in|transfers|says|passes)"
TRANSLATE = translator("en")
TWO = (Card.CARD_6H, Card.CARD_7H)


def menu(*cards: Card.ValueType) -> Menu:
    return Menu([Choice(Move(attack=AttackMove(card=card)), str(card)) for card in cards])


def test_a_number_belongs_to_the_menu_that_a_person_had_time_to_read() -> None:
    first, second, third = menu(*TWO), menu(TWO[1]), menu(Card.CARD_AS)
    history = MenuHistory()
    assert history.menu_at(10.0) == Menu()
    history.add(first, 10.0)
    assert history.menu_at(10.1) is first, "there was no other"
    history.add(second, 20.0)
    assert history.menu_at(20.0 + REACTION_SECONDS - 0.01) is first
    assert history.menu_at(20.0 + REACTION_SECONDS) is second
    history.add(third, 20.1)
    assert history.menu_at(20.2) is second, (
        "both are new: neither number may count as for the third"
    )
    history.clear()
    history.add(first, 30.0)
    assert history.menu_at(30.0) is first, "the menus before are answered"


def test_an_answer_is_a_number_only_in_ascii_digits_below_1000() -> None:
    assert [parse_number(text) for text in (" 7 ", "12", "0", "6h", "", "٣", "1000")] == [
        *(7, 12, 0),
        *(None, None, None, None),
    ]


class Ann:
    """Ann's terminal and her seat on the server."""

    def __init__(self, server: Running, person: Person, channel: aio.Channel) -> None:
        assert server.development_key is not None
        self.person = person
        self.player = player_of(server, "ann", channel)

    async def choose(self, answer: str) -> None:
        """Type an answer until it is played, again after each change of the table."""
        self.person.type(answer)
        while True:
            line = await self.person.read_to("")
            if re.match(OWN_MOVE, line):
                return
            if "The table has changed" in line:
                self.person.type(answer)

    async def menu(self, match_id: str) -> Menu:
        view = await self.player.get(match_id)
        choices = list_choices(view, seat_names(view.seats, TRANSLATE), TRANSLATE)
        return Menu(choices, on_table(view))


def player_of(server: Running, name: str, channel: aio.Channel) -> Player:
    assert server.development_key is not None
    token = server.development_key.mint(
        name,
        issuer=server.config.token_issuer,
        audience=server.config.token_audience,
        lifetime_seconds=600,
    )
    player = Player(channel, name)
    player.metadata = (("authorization", f"Bearer {token}"),)
    return player


def number_that_moved(before: Menu, after: Menu) -> int | None:
    """Return a number that means one move in a menu and another in the next."""
    for number in range(len(before.choices), 0, -1):
        if after.move(number) not in (None, before.move(number)):
            return number
    return None


def throw_in(view: TableView) -> Move | None:
    """Return a move that throws in a card; None if the seat cannot throw in."""
    if not view.table or not view.moves.attack:
        return None
    return Move(attack=AttackMove(card=view.moves.attack[0]))


async def others_play_until_ann_can_be_overtaken(
    ann: Ann, others: Sequence[Player], match_id: str
) -> tuple[Player, Move]:
    """Play until another player can throw in a card while Ann has moves.

    Returns that player and the move.
    """
    while True:
        view = await ann.player.get(match_id)
        assert not view.HasField("result"), "nobody could ever throw in a card"
        seen = [(other, await other.get(match_id)) for other in others]
        if view.moves.ListFields() and has_move(view):
            for other, theirs in seen:
                card = throw_in(theirs)
                if card is not None and theirs.attacks_left > 0:
                    return other, card
            await ann.choose("1")
        else:
            for other, theirs in seen:  # nobody while Ann's own move is on its way
                if has_move(theirs):
                    await other.play(match_id, easy_move(theirs))
                    break


async def test_a_number_typed_while_another_player_moves_plays_nothing(
    database: Database, tmp_path: Path
) -> None:
    async with (
        running(config(database, tmp_path)) as server,
        aio.insecure_channel(server.address) as channel,
        playing(server, "--seats", "3", "--bots", "0", "--deck", "52") as person,
    ):
        ann = Ann(server, person, channel)
        others = [player_of(server, name, channel) for name in ("bob", "cid")]
        match_id = (await person.read_to("--match ")).split()[-1]
        for other in others:
            await other.sit(match_id)
        while True:
            other, card = await others_play_until_ann_can_be_overtaken(ann, others, match_id)
            before = await ann.menu(match_id)
            await person.read_to(f"{len(before.texts):>2}  {before.texts[-1]}")
            person.process.send_signal(signal.SIGSTOP)  # her terminal does not show the next event
            version = (await other.play(match_id, card)).version
            after = await ann.menu(match_id)
            number = number_that_moved(before, after)
            if number is not None:
                person.type(str(number))
            person.process.send_signal(signal.SIGCONT)
            if number is not None:
                break
        assert number is not None
        await person.read_to("The table has changed since you chose; nothing was played.")
        await person.read_to("Your move")
        assert (await ann.player.get(match_id)).version == version
        await person.read_to(f"{number:>2}  {after.texts[number - 1]}")

        await ann.choose(str(number))  # now the terminal has shown the new menu
        assert (await ann.player.get(match_id)).version > version


async def test_at_a_terminal_the_answer_to_a_menu_that_stands_is_taken(
    database: Database, tmp_path: Path
) -> None:
    async with running(config(database, tmp_path)) as server:
        outer, inner = pty.openpty()
        folder = str(server.config.data_dir)
        process = await asyncio.create_subprocess_exec(
            *(*COMMAND, "play", "--name", "ann"),
            *("--server", server.address, "--data-dir", folder),
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env={**os.environ, "TERM": "dumb", "NO_COLOR": "1"},
        )
        os.close(inner)
        shown, answered, answers = "", 0, 0
        async with asyncio.timeout(60):
            while "Come back with" not in shown:
                # Answer only a menu that stays for a while: the bot may change it at once.
                readable, _, _ = await asyncio.to_thread(
                    select.select, [outer], [], [], 2 * REACTION_SECONDS
                )
                if readable:
                    shown += os.read(outer, 4096).decode(errors="replace")
                elif shown.count("Your move") > answered and shown.endswith("> "):
                    answered = shown.count("Your move")
                    answers += 1
                    os.write(outer, b"1\n" if answers <= 3 else b"quit\n")
            await process.wait()
        os.close(outer)
    assert "The table has changed" not in shown
    assert len(re.findall(OWN_MOVE, shown)) >= 3
