"""`durak demo`: a whole match over gRPC, and then the proof that the log alone tells it again."""

import asyncio
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID, uuid4

import click
import grpc
from grpc import aio
from rich.console import Console

from domain.audit import audit
from domain.bots import easy
from domain.bots.legality import illegal_plays
from domain.match.fold import Match, fold
from domain.match.view import redact, table_view
from durak.v1 import match_service_pb2 as api
from durak.v1.events_pb2 import Record
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from durak.v1.table_pb2 import ChallengeMove, DefendMove, Move, TableView
from durak.v1.wallet_service_pb2 import GrantCoinsRequest
from durak.v1.wallet_service_pb2_grpc import WalletServiceStub
from eventstore import StoredRecord
from service.cli.database import open_store
from service.cli.terminal import new_console
from service.cli.tokens import development_token
from service.config import Config
from service.render.cards import colour_cards
from service.render.narration import Narrator
from service.render.texts import translator
from service.rpc.telemetry import configure_logging
from service.server import Running, running

PLAYERS: Final = ("Anna", "Boris", "Vera", "Gleb")
CHEAT, WITNESS = PLAYERS[1], PLAYERS[0]
"""At the tricky table: who cheats, and who watches for it."""
# Commands that came too late are refused and tried on the next view.
_TOO_LATE: Final = (grpc.StatusCode.ABORTED, grpc.StatusCode.FAILED_PRECONDITION)


@click.command()
@click.option("--stake", type=click.IntRange(0, 1_000), default=0, help="Coins of each seat.")
@click.option("--tricky", is_flag=True, help="Boris cheats; Anna challenges each second time.")
def demo(*, stake: int, tricky: bool) -> None:
    """Play a four-seat perevodnoy match over gRPC, then replay it from the log.

    Starts the service on a free port, connects four players and a spectator, each by a connection
    of their own, and prints what the spectator sees. Then it reads the log back, audits it, folds
    it, and compares it with every event and the last view that each client got. Exit code 1 means
    that they differ. With --stake it tells who has which coins then, and adds up all coins.
    """
    config = Config(listen_port=0, log_level="error")
    configure_logging(config)
    settings = Settings(
        deck=Deck.DECK_36,
        seats=len(PLAYERS),
        throw_in=ThrowIn.THROW_IN_ALL,
        transfer=True,
        draw_allowed=True,
        five_card_opening=True,
        tricky=tricky,
        stake_coins=stake,
    )
    sys.exit(asyncio.run(_demo(config, settings)))


async def _demo(config: Config, settings: Settings) -> int:
    async with running(config) as server:
        match_id, clients = await _play(server, settings)
    async with open_store(config) as store:
        stored = await store.read(UUID(match_id))
        faults = _differences(stored, clients)
        if settings.stake_coins:
            balances = [
                f"{name} {(await store.ledger.read_balance(name)).available}" for name in PLAYERS
            ]
            click.echo(f"coins: {', '.join(balances)}")
            if not (await store.ledger.check()).holds:
                faults.append("the coins do not add up")
    for fault in faults:
        click.echo(f"durak: {fault}", err=True)
    if faults:
        return 1
    click.echo(f"replay identical: {len(stored)} events")
    return 0


@dataclass
class Client:
    """One connection, and what came through it."""

    name: str
    stub: MatchServiceStub
    metadata: tuple[tuple[str, str], ...]
    events: list[api.MatchEvent] = field(default_factory=list)
    view: TableView = field(default_factory=TableView)

    async def watch(self, match_id: str) -> None:
        """Follow the match to its end, and move whenever the table waits for this player."""
        request = api.WatchMatchRequest(match_id=match_id, include_views=True)
        async for message in self.stub.WatchMatch(request, metadata=self.metadata):
            if message.HasField("event"):
                self.events.append(message.event)
            elif message.HasField("view"):
                self.view = message.view
                await self.act()

    async def act(self) -> None:
        """Make the move of this player where they have one to make."""
        view = self.view
        move = self.choose(view) if view.HasField("your_seat") else None
        if move is None:
            return
        request = api.PlayRequest(
            match_id=view.match_id,
            request_id=str(uuid4()),
            expected_version=view.version,
            move=move,
        )
        try:
            await self.stub.Play(request, metadata=self.metadata)
        except aio.AioRpcError as error:
            if error.code() not in _TOO_LATE:
                raise

    def choose(self, view: TableView) -> Move | None:
        """The move of an easy bot, where it is this player's turn."""
        return easy.choose_move(view, (), 0) if view.your_seat in view.on_clock else None


class Cheat(Client):
    """Beats with cards that do not beat, where the rules leave nothing but to take (R11.1)."""

    def choose(self, view: TableView) -> Move | None:
        """An illegal card instead of "take"."""
        move = super().choose(view)
        if move is None or not move.HasField("take"):
            return move
        unbeaten = [laid.attack_card for laid in view.table if not laid.defence.card]
        return Move(defend=DefendMove(attack_card=unbeaten[0], card=view.hand[0]))


@dataclass
class Witness(Client):
    """Challenges each second illegal play that lies there for all to see (R11.3)."""

    seen: set[int] = field(default_factory=set)

    def choose(self, view: TableView) -> Move | None:
        """A challenge, or what an easy bot would do."""
        history = [event.event for event in self.events]
        for version in illegal_plays(view, history):
            if version not in self.seen:
                self.seen.add(version)
                if len(self.seen) % 2 == 0:
                    return Move(challenge=ChallengeMove(play_version=version))
        return super().choose(view)


@dataclass
class Spectator(Client):
    """Tells the events as they come."""

    narrator: Narrator = field(default_factory=lambda: Narrator(translator("en")))
    console: Console = field(default_factory=new_console)

    async def watch(self, match_id: str) -> None:
        """Follow the match to its end, and tell it."""
        request = api.WatchMatchRequest(match_id=match_id, include_views=True)
        async for message in self.stub.WatchMatch(request, metadata=self.metadata):
            if message.HasField("view"):
                self.view = message.view
            elif message.HasField("event"):
                self.events.append(message.event)
                for line in self.narrator.transcript(message.event.event):
                    self.console.print(colour_cards(line, self.narrator.trump_suit))


async def _play(server: Running, settings: Settings) -> tuple[str, list[Client]]:
    """Play the match; its id, and the clients with all that they saw."""
    channels = [_connect(server.address) for _ in range(len(PLAYERS) + 1)]
    try:
        players = [
            _client(settings, name)(name, MatchServiceStub(channel), _metadata(server, name))
            for name, channel in zip(PLAYERS, channels, strict=False)
        ]
        spectator = Spectator(
            "spectator", MatchServiceStub(channels[-1]), _metadata(server, "spectator")
        )
        if settings.stake_coins:  # so that nobody is short, however often this is run
            await _grant(server, channels[-1], settings.stake_coins)
        owner = players[0]
        opened = await owner.stub.OpenTable(
            api.OpenTableRequest(request_id=str(uuid4()), settings=settings),
            metadata=owner.metadata,
        )
        match_id = opened.view.match_id
        click.echo(f"match {match_id}")
        for player in players:
            await player.stub.TakeSeat(
                api.TakeSeatRequest(
                    match_id=match_id,
                    request_id=str(uuid4()),
                    client_seed=secrets.token_bytes(16),
                ),
                metadata=player.metadata,
            )
        clients = [*players, spectator]
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            for client in clients:
                tasks.create_task(client.watch(match_id))
        return match_id, clients
    finally:
        for channel in channels:
            await channel.close()


async def _grant(server: Running, channel: aio.Channel, coins: int) -> None:
    """Give each player coins, as an operator."""
    token = development_token(server.config, "operator", roles=("operator",), hours=1)
    for name in PLAYERS:
        await WalletServiceStub(channel).GrantCoins(
            GrantCoinsRequest(request_id=str(uuid4()), player_id=name, coins=coins),
            metadata=(("authorization", f"Bearer {token}"),),
        )


def _client(settings: Settings, name: str) -> type[Client]:
    if not settings.tricky:
        return Client
    return {CHEAT: Cheat, WITNESS: Witness}.get(name, Client)


def _connect(address: str) -> aio.Channel:
    # Channels of one process share a connection unless they are told not to.
    return aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])


def _metadata(server: Running, name: str) -> tuple[tuple[str, str], ...]:
    if server.development_key is None:
        raise click.ClickException("unset DURAK_TOKEN_JWKS: the demo makes its own tokens")
    token = development_token(server.config, name, hours=1)
    return (("authorization", f"Bearer {token}"),)


def _differences(stored: Sequence[StoredRecord], clients: Sequence[Client]) -> list[str]:
    """What the log and the clients tell differently; and what the auditor finds."""
    report = audit(stored)
    faults = [str(finding) for finding in report.findings]
    records = [Record.FromString(record.record) for record in stored]
    match = fold(records)
    for client in clients:
        seat = match.table.seat_of(client.name)
        if client.view != table_view(match, seat):
            faults.append(f"the last view of {client.name} is not the one that the log gives")
        if client.events != _as_shown(records, match, seat):
            faults.append(f"the events that {client.name} got are not those of the log")
    return faults


def _as_shown(records: Sequence[Record], match: Match, seat: int | None) -> list[api.MatchEvent]:
    return [
        api.MatchEvent(
            version=record.version,
            event_time=record.event_time,
            event=redact(record.event, seat, match.trump_card),
        )
        for record in records
    ]
