"""`durak demo`: play a match over gRPC, then replay it from the log and compare."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from secrets import token_bytes
from typing import Any, Final
from uuid import UUID, uuid4

import click
import grpc
from google.protobuf.message import Message
from grpc import aio
from rich.console import Console

from domain.audit import audit
from domain.bots import easy
from domain.bots.legality import illegal_plays
from domain.match.deal import SECRET_BYTES, secret_hash
from domain.match.deal_check import DealMismatch, Promises, check_deal
from domain.match.fold import Match, fold
from domain.match.move_messages import attack, challenge, defend
from domain.match.view import redact, table_view
from durak.v1 import match_service_pb2 as api
from durak.v1.events_pb2 import Record
from durak.v1.match_service_pb2_grpc import MatchServiceStub
from durak.v1.settings_pb2 import Deck, Settings, ThrowIn
from durak.v1.table_pb2 import PHASE_REVEALING, Move, TableView
from durak.v1.wallet_service_pb2 import GrantCoinsRequest
from durak.v1.wallet_service_pb2_grpc import WalletServiceStub
from eventstore import StoredRecord
from service.cli.database import open_store
from service.cli.exits import EXIT_FAILED, CommandError
from service.cli.terminal import new_console
from service.cli.tokens import development_token
from service.config import Config
from service.render.cards import colour_cards
from service.render.narration import Narrator
from service.render.texts import translator
from service.rpc.logs import configure_logging
from service.server import Running, running

PLAYERS: Final = ("Anna", "Boris", "Vera", "Gleb")
CHEAT, WITNESS = PLAYERS[1], PLAYERS[0]
"""The players who cheat and who challenge, with --tricky."""
# The table changed before the move arrived. The player moves again on the next view.
_TOO_LATE: Final = (grpc.StatusCode.ABORTED, grpc.StatusCode.FAILED_PRECONDITION)


@click.command()
@click.option(
    "--stake",
    metavar="COINS",
    type=click.IntRange(0, 1_000),
    default=0,
    show_default=True,
    help="Coins that each seat pays.",
)
@click.option(
    "--tricky",
    is_flag=True,
    help="Let Boris cheat, and Anna challenge the first and then every second illegal card.",
)
def demo(*, stake: int, tricky: bool) -> None:
    """Play a match of four over gRPC, then replay and audit it from the log.

    Starts the service on a free port, connects four players and a spectator, and prints what the
    spectator sees. Then reads the log, audits and folds it, and compares it with the events and the
    last view of each client. With --stake, also prints the balances and checks the ledger.

    Exit code 1: the log and the clients differ, or the audit found faults.
    """
    config = Config(listen_port=0, log_level="error", grant_coins_per_day_max=1_000_000_000)
    configure_logging(config)
    settings = demo_settings(stake=stake, tricky=tricky)
    sys.exit(asyncio.run(_demo(config, settings)))


def demo_settings(*, stake: int, tricky: bool) -> Settings:
    """Return the settings of the table."""
    return Settings(
        deck=Deck.DECK_36,
        seats=len(PLAYERS),
        throw_in=ThrowIn.THROW_IN_ALL,
        transfer=True,
        draw_allowed=True,
        five_card_opening=True,
        tricky=tricky,
        stake_coins=stake,
    )


async def _demo(config: Config, settings: Settings) -> int:
    async with running(config) as server:
        match_id, clients = await _play(server, settings)
    async with open_store(config) as store:
        stored = await store.read(UUID(match_id))
        players = [client for client in clients if client.name in PLAYERS]
        deal_faults = [fault for player in players if (fault := player.deal_fault(match_id))]
        if not deal_faults:
            click.echo(f"deal verified with the secrets of {', '.join(PLAYERS)}")
        faults = [*deal_faults, *_differences(stored, clients)]
        if settings.stake_coins:
            balances = [
                f"{name} {(await store.ledger.read_balance(name)).available}" for name in PLAYERS
            ]
            click.echo(f"coins: {', '.join(balances)}")
            if not (await store.ledger.check()).holds:
                faults.append("the ledger does not balance")
    for fault in faults:
        click.echo(f"durak: {fault}", err=True)
    if faults:
        return EXIT_FAILED
    click.echo(f"replay identical: {len(stored)} events")
    return 0


@dataclass
class Client:
    """A player with a connection of its own, and the events and view it received."""

    name: str
    stub: MatchServiceStub
    metadata: tuple[tuple[str, str], ...]
    events: list[api.MatchEvent] = field(default_factory=list)
    view: TableView = field(default_factory=TableView)
    secret: bytes = field(default_factory=lambda: token_bytes(SECRET_BYTES))
    promises: Promises = field(default_factory=lambda: Promises(b"", ()))

    async def watch(self, match_id: str) -> None:
        """Follow the match to its end, and play."""
        request = api.WatchMatchRequest(match_id=match_id, include_views=True)
        async for message in self.stub.WatchMatch(request, metadata=self.metadata):
            if message.HasField("event"):
                self.events.append(message.event)
            elif message.HasField("view"):
                self.view = message.view
                await self.act()

    async def sit_down(self, match_id: str) -> None:
        """Take a seat and promise a secret for the shuffle."""
        promise = secret_hash(UUID(match_id).bytes, self.name, self.secret)
        await self.stub.TakeSeat(
            api.TakeSeatRequest(
                match_id=match_id, request_id=str(uuid4()), client_seed_hash=promise
            ),
            metadata=self.metadata,
        )

    async def act(self) -> None:
        """Reveal the secret, or make a move, if the table waits for this player."""
        view = self.view
        if view.phase == PHASE_REVEALING:
            await self._reveal()
            return
        move = self.choose(view) if view.HasField("your_seat") else None
        if move is None:
            return
        request = api.PlayRequest(
            match_id=view.match_id,
            request_id=str(uuid4()),
            expected_version=view.version,
            move=move,
        )
        await self._try(self.stub.Play, request)

    async def _try(self, method: Callable[..., Awaitable[Any]], request: Message) -> None:
        """Send a command. If the table changed meanwhile, the next view brings another try."""
        try:
            await method(request, metadata=self.metadata)
        except aio.AioRpcError as error:
            if error.code() not in _TOO_LATE:
                raise

    async def _reveal(self) -> None:
        view = self.view
        if not view.HasField("your_seat") or view.your_seat not in view.on_clock:
            return
        hashes = tuple(seat.client_seed_hash for seat in view.seats)
        self.promises = Promises(view.server_seed_hash, hashes)
        request = api.RevealSeedRequest(
            match_id=view.match_id,
            request_id=str(uuid4()),
            expected_version=view.version,
            secret=self.secret,
        )
        await self._try(self.stub.RevealSeed, request)

    def deal_fault(self, match_id: str) -> str:
        """Check the deal with the secret. Returns the fault, or an empty string."""
        events = [event.event for event in self.events]
        try:
            check_deal(UUID(match_id).bytes, self.name, self.secret, self.promises, events)
        except DealMismatch as mismatch:
            return f"{self.name}: {mismatch}"
        return ""

    def choose(self, view: TableView) -> Move | None:
        """Return the move of an easy bot; None if it is not this player's turn."""
        return easy.choose_move(view, (), 0) if view.your_seat in view.on_clock else None


class Cheat(Client):
    """Plays an illegal card instead of taking, and whenever it can until the first challenge.

    Therefore each match shows a challenge (R11.1, R11.3).
    """

    def choose(self, view: TableView) -> Move | None:
        """Return an illegal play, or the move of an easy bot."""
        move = super().choose(view)
        if move is None:
            return None
        was_challenged = any(event.event.HasField("challenged") for event in self.events)
        if was_challenged and not move.HasField("take"):
            return move
        return _illegal_play(view) or move


def _illegal_play(view: TableView) -> Move | None:
    """Return a play of a held card that the rules do not allow, or None if all are allowed."""
    if view.your_seat == view.defender:
        legal = {(one.attack_card, card) for one in view.moves.defend for card in one.cards}
        unbeaten = [laid.attack_card for laid in view.table if not laid.defence.card]
        plays = product(unbeaten, view.hand)
        return next((defend(*play) for play in plays if play not in legal), None)
    # Nobody has to act before the cards are taken, so a challenge could come too late.
    if not view.table or not view.attacks_left or view.taking:
        return None
    return next((attack(card) for card in view.hand if card not in view.moves.attack), None)


@dataclass
class Witness(Client):
    """Challenges the first illegal play on the table, and then every second one (R11.3)."""

    seen: list[int] = field(default_factory=list)

    def choose(self, view: TableView) -> Move | None:
        """Return a challenge, or the move of an easy bot."""
        history = [event.event for event in self.events]
        for version in illegal_plays(view, history):
            if version not in self.seen:
                self.seen.append(version)
            if self.seen.index(version) % 2 == 0:
                return challenge(version)
        return super().choose(view)


@dataclass
class Spectator(Client):
    """Prints the events as they arrive."""

    narrator: Narrator = field(default_factory=lambda: Narrator(translator("en")))
    console: Console = field(default_factory=new_console)

    async def watch(self, match_id: str) -> None:
        """Follow the match to its end, and print it."""
        request = api.WatchMatchRequest(match_id=match_id, include_views=True)
        async for message in self.stub.WatchMatch(request, metadata=self.metadata):
            if message.HasField("view"):
                self.view = message.view
            elif message.HasField("event"):
                self.events.append(message.event)
                for line in self.narrator.numbered_lines(message.event.event):
                    self.console.print(colour_cards(line, self.narrator.trump_suit))


async def _play(server: Running, settings: Settings) -> tuple[str, list[Client]]:
    """Play the match. Returns its id and the clients."""
    channels = [_connect(server.address) for _ in range(len(PLAYERS) + 1)]
    try:
        players = [
            _client(settings, name)(name, MatchServiceStub(channel), _metadata(server, name))
            for name, channel in zip(PLAYERS, channels, strict=False)
        ]
        spectator = Spectator(
            "spectator", MatchServiceStub(channels[-1]), _metadata(server, "spectator")
        )
        if settings.stake_coins:  # so that the demo can be repeated without running out of coins
            await _grant(server, channels[-1], settings.stake_coins)
        owner = players[0]
        opened = await owner.stub.OpenTable(
            api.OpenTableRequest(request_id=str(uuid4()), settings=settings),
            metadata=owner.metadata,
        )
        match_id = opened.view.match_id
        click.echo(f"match {match_id}")
        for player in players:
            await player.sit_down(match_id)
        clients = [*players, spectator]
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            for client in clients:
                tasks.create_task(client.watch(match_id))
        return match_id, clients
    finally:
        for channel in channels:
            await channel.close()


async def _grant(server: Running, channel: aio.Channel, coins: int) -> None:
    """Grant coins to each player, as an operator."""
    token = development_token(server.config, "operator", roles=("operator",), hours=1)
    for name in PLAYERS:
        await WalletServiceStub(channel).GrantCoins(
            GrantCoinsRequest(
                request_id=str(uuid4()), player_id=name, coins=coins, reason="stakes of the demo"
            ),
            metadata=(("authorization", f"Bearer {token}"),),
        )


def _client(settings: Settings, name: str) -> type[Client]:
    if not settings.tricky:
        return Client
    return {CHEAT: Cheat, WITNESS: Witness}.get(name, Client)


def _connect(address: str) -> aio.Channel:
    # By default, the channels of a process share one connection.
    return aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])


def _metadata(server: Running, name: str) -> tuple[tuple[str, str], ...]:
    if server.development_key is None:
        raise CommandError("unset DURAK_TOKEN_JWKS: the demo makes its own tokens")
    token = development_token(server.config, name, hours=1)
    return (("authorization", f"Bearer {token}"),)


def _differences(stored: Sequence[StoredRecord], clients: Sequence[Client]) -> list[str]:
    """Return the findings of the audit, and the differences between the log and the clients."""
    report = audit(stored)
    faults = [str(finding) for finding in report.findings]
    records = [Record.FromString(record.record) for record in stored]
    match = fold(records)
    for client in clients:
        seat = match.table.seat_of(client.name)
        last_view = TableView()
        last_view.CopyFrom(client.view)
        last_view.ClearField("server_time")
        if last_view != table_view(match, seat):
            faults.append(f"the last view of {client.name} differs from the log")
        if client.events != _redacted_events(records, match, seat):
            faults.append(f"the events of {client.name} differ from the log")
    return faults


def _redacted_events(
    records: Sequence[Record], match: Match, seat: int | None
) -> list[api.MatchEvent]:
    return [
        api.MatchEvent(
            version=record.version,
            event_time=record.event_time,
            event=redact(record.event, seat, match.trump_card),
        )
        for record in records
    ]
