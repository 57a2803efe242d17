"""`durak play`: a person at a terminal, against bots or other people."""

import asyncio
import getpass
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import UUID

import click
from click.core import ParameterSource

from durak.v1 import match_service_pb2 as api
from durak.v1.settings_pb2 import BotLevel, Settings
from durak.v1.table_pb2 import PHASE_WAITING
from service.cli.client import CallRefused, Client, new_request_id
from service.cli.connection import OPTIONS
from service.cli.options import (
    LEVELS,
    TABLE,
    load_config,
    server_address,
    table_settings,
    with_options,
)
from service.cli.play.game import Game
from service.cli.play.next_steps import NextSteps, balance_after
from service.cli.terminal import Terminal
from service.cli.tokens import local_token
from service.render.texts import Translate, player_name, settings_line, translator

EXIT_INTERRUPTED: Final = 130
_WHERE_AND_WHO: Final = frozenset({"server", "certificate", "name", "data_dir", "language"})


@dataclass(frozen=True, slots=True)
class Plan:
    """What to sit down at: a match by its id, any free seat, or a new table with bots."""

    match_id: UUID | None
    rematch_of: UUID | None
    join: bool
    settings: Settings
    starts_series: bool
    bots: int | None
    level: BotLevel.ValueType


@click.command()
@click.option("--match", "match_id", type=click.UUID, help="Sit down at this match, or come back.")
@click.option("--rematch", "rematch_of", type=click.UUID, help="Play this match again.")
@click.option(
    "--join",
    is_flag=True,
    help="Sit down at the newest table with a free seat and no higher a stake than --stake.",
)
@click.option("--list", "only_list", is_flag=True, help="List the tables with free seats, no more.")
@with_options(*TABLE)
@click.option("--series", is_flag=True, help="Rematches go on with this match as a series.")
@click.option(
    "--bots",
    type=click.IntRange(0, 5),
    help="How many bots. [default: all other seats, and none where there is a stake]",
)
@click.option("--level", type=click.Choice(list(LEVELS)), default="easy", show_default=True)
@with_options(*OPTIONS)
@click.pass_context
def play(context: click.Context, /, **given: Any) -> None:  # noqa: ANN401 - the options above
    """Play Durak at this terminal.

    Without options: a new table for two, 36 cards, podkidnoy, against an easy bot. Other people sit
    down at your table with `durak play --match ID`; at a staked table there are no bots. Without
    --token or DURAK_TOKEN you play as --name (your login if not given), by the development key of a
    server on this machine.

    Ctrl-C leaves the terminal, not the match: come back with --match.
    """
    config = load_config(given["data_dir"])
    settings = table_settings(given)
    if sum(map(bool, (given["match_id"], given["rematch_of"], given["join"]))) > 1:
        raise click.UsageError("--match, --rematch and --join are different tables")
    bots = given["bots"]
    if bots is not None and given["seats"] is not None and bots >= given["seats"]:
        raise click.UsageError(f"{bots} bots leave no seat for you at a table of {given['seats']}")
    if settings.stake_coins and bots:
        raise click.UsageError("bots do not sit at staked tables (R12.7)")
    plan = Plan(
        given["match_id"],
        given["rematch_of"],
        given["join"],
        settings,
        given["series"],
        0 if settings.stake_coins else bots,
        LEVELS[given["level"]],
    )
    translate = translator(given["language"])
    terminal = Terminal()
    connect = partial(
        Client,
        server_address(given["server"], config),
        given["token"] or local_token(config, given["name"] or getpass.getuser()),
        language=given["language"],
        certificate=given["certificate"],
        on_connection_change=lambda lost: terminal.print(
            translate("connection-lost" if lost else "connection-back"), style="dim"
        ),
    )
    next_steps = NextSteps(_options_of_the_caller(context), translate)
    try:
        if given["only_list"]:
            asyncio.run(_list(connect, translate))
        else:
            asyncio.run(_play(connect, plan, terminal, translate, next_steps))
    except KeyboardInterrupt:
        context.exit(EXIT_INTERRUPTED)


def _options_of_the_caller(context: click.Context) -> list[str]:
    """The options that say where and who, as they were typed; a token is not shown again."""
    words = []
    for option in context.command.params:
        if option.name not in _WHERE_AND_WHO:
            continue
        value = context.params[option.name]
        source = context.get_parameter_source(option.name)  # None: from `durak practice`
        if value is not None and source in (ParameterSource.COMMANDLINE, None):
            words += [option.opts[0], str(value)]
    return words


async def _list(connect: Callable[[], Client], translate: Translate) -> None:
    async with connect() as client:
        for match in await _open_tables(client):
            free = sum(not seat.taken for seat in match.seats)
            settings = settings_line(match.settings, translate)
            owner, seats = player_name(match.owner_id), translate("seats-free", count=free)
            click.echo(f"{match.match_id}  {seats}  {owner}  {settings}")


async def _open_tables(client: Client) -> Sequence[api.MatchSummary]:
    request = api.ListMatchesRequest(phase=PHASE_WAITING, page_size=100)
    waiting = (await client.call(client.stub.ListMatches, request, repeats=False)).matches
    # The seats of a rematch are kept for those who had them (R13.1).
    return [match for match in waiting if not match.reserved_for]


async def _play(
    connect: Callable[[], Client],
    plan: Plan,
    terminal: Terminal,
    translate: Translate,
    next_steps: NextSteps,
) -> None:
    async with connect() as client:
        match_id = await _sit_down(client, plan)
        game = Game(client, match_id, terminal, translate)
        try:
            ended = await game.play()
        except asyncio.CancelledError:  # Ctrl-C
            terminal.print("")
            terminal.hint(next_steps.resume_hint(game.view))
            raise
        if not ended and not game.has_left:
            terminal.hint(next_steps.resume_hint(game.view))
            return
        sat = game.has_left or game.view.HasField("your_seat")
        if sat and (coins := await balance_after(client, game.view, translate)):
            terminal.print(coins, style="dim")
        if ended and sat:
            for hint in next_steps.after(game.view):
                terminal.hint(hint)


async def _sit_down(client: Client, plan: Plan) -> str:
    """The id of the match, where the person sits from now on, or watches if it has begun."""
    if plan.match_id is not None:
        match_id = str(plan.match_id)
    elif plan.rematch_of is not None:
        request = api.RematchRequest(
            match_id=str(plan.rematch_of),
            request_id=new_request_id(),
            client_seed=secrets.token_bytes(16),
        )
        return (await client.call(client.stub.Rematch, request)).view.match_id
    elif plan.join:
        stake = plan.settings.stake_coins
        tables = [one for one in await _open_tables(client) if one.settings.stake_coins <= stake]
        if not tables:
            raise click.ClickException("no table has a free seat: open one with `durak play`")
        match_id = tables[0].match_id
    else:
        return await _open_table(client, plan)
    answer = await client.call(
        client.stub.GetMatch, api.GetMatchRequest(match_id=match_id), repeats=False
    )
    if answer.view.phase == PHASE_WAITING and not answer.view.HasField("your_seat"):
        await _take_seat(client, match_id)
    return match_id


async def _open_table(client: Client, plan: Plan) -> str:
    request = api.OpenTableRequest(
        request_id=new_request_id(), settings=plan.settings, start_series=plan.starts_series
    )
    view = (await client.call(client.stub.OpenTable, request, repeats=False)).view
    try:
        await _take_seat(client, view.match_id)
    except CallRefused:  # as where the coins do not suffice: nobody is left with an empty table
        closing = api.CancelTableRequest(match_id=view.match_id, request_id=new_request_id())
        await client.call(client.stub.CancelTable, closing)
        raise
    others = len(view.seats) - 1
    for _ in range(others if plan.bots is None else min(plan.bots, others)):
        await client.call(
            client.stub.SeatBot,
            api.SeatBotRequest(
                match_id=view.match_id, request_id=new_request_id(), level=plan.level
            ),
        )
    return view.match_id


async def _take_seat(client: Client, match_id: str) -> None:
    """Sit down, with a seed of our own in the shuffle: then nobody else has chosen the deck."""
    request = api.TakeSeatRequest(
        match_id=match_id, request_id=new_request_id(), client_seed=secrets.token_bytes(16)
    )
    await client.call(client.stub.TakeSeat, request)
