"""The command `durak play`."""

import asyncio
import secrets
from typing import Any, Final

import click
from click.core import ParameterSource

from durak.v1 import wallet_service_pb2 as wallet
from durak.v1.table_pb2 import TableView
from durak.v1.wallet_service_pb2_grpc import WalletServiceStub
from service.cli.client import Client
from service.cli.coins import balance_line
from service.cli.connection import OPTION_NAMES, OPTIONS, Connection, make_connection
from service.cli.options import LEVELS, TABLE, table_settings, with_options
from service.cli.play.fair_deal import FairDeal
from service.cli.play.game import Game
from service.cli.play.next_steps import NextSteps
from service.cli.play.promises import PromiseFolder
from service.cli.play.tables import Plan, open_tables, sit_down
from service.cli.terminal import Terminal, new_console, print_fields
from service.render.texts import player_name, settings_line, translator
from service.text.localisation import Translate

_LINK_SECRET_BYTES: Final = 16
_REPEATED_OPTIONS: Final = frozenset(OPTION_NAMES) - {"token"}  # a token is not printed


@click.command()
@click.option("--match", "match_id", type=click.UUID, help="Join this match, or come back to it.")
@click.option("--rematch", "rematch_of", type=click.UUID, help="Play this match again.")
@click.option(
    "--join",
    is_flag=True,
    help="Join the newest table with a free seat and a stake of at most --stake.",
)
@click.option("--list", "only_list", is_flag=True, help="List the tables with free seats and exit.")
@with_options(*TABLE)
@click.option("--series", is_flag=True, help="Count this match and its rematches as a series.")
@click.option(
    "--bots",
    metavar="N",
    type=click.IntRange(0, 5),
    help="Number of bots.  [default: all other seats; 0 with a stake]",
)
@click.option(
    "--level",
    type=click.Choice(list(LEVELS)),
    default="easy",
    show_default=True,
    help="Level of the bots.",
)
@click.option(
    "--invite",
    "invited",
    metavar="PLAYER",
    multiple=True,
    help="Let only this player join the new table. Repeat for more players.",
)
@click.option("--private", is_flag=True, help="Let only players with a secret link join.")
@click.option("--link", metavar="SECRET", help="Secret of the private table to join with --match.")
@with_options(*OPTIONS)
@click.pass_context
def play(context: click.Context, /, **given: Any) -> None:  # noqa: ANN401 - the options above
    """Play Durak in this terminal.

    By default, opens a table for two (36 cards, no transfers) and seats an easy bot. With --bots 0,
    other people join it with `durak play --match ID`.

    Type ? during the match for help. Ctrl-C leaves the terminal, not the match; --match comes back.

    A match that has begun without you is shown until it ends or you press Ctrl-C, in a pipe too.
    """
    plan = _plan(given)
    translate = translator(given["language"])
    connection = make_connection(given, "player")
    with connection.explaining_refusals():
        if given["only_list"]:
            asyncio.run(_list(connection, translate))
        else:
            next_steps = NextSteps(_repeated_options(context), translate)
            asyncio.run(_play(connection, plan, translate, next_steps))


def _plan(given: dict[str, Any]) -> Plan:
    """Return the plan for the options. Raises click.UsageError if they contradict each other."""
    settings = table_settings(given)
    bots = given["bots"]
    if sum(map(bool, (given["match_id"], given["rematch_of"], given["join"]))) > 1:
        raise click.UsageError("give only one of --match, --rematch and --join")
    if bots is not None and given["seats"] is not None and bots >= given["seats"]:
        raise click.UsageError(f"{bots} bots leave no seat for you at a table of {given['seats']}")
    if settings.stake_coins and bots:
        raise click.UsageError("bots do not sit at staked tables (R12.7)")
    if given["link"] and not given["match_id"]:
        raise click.UsageError("--link needs --match")
    return Plan(
        given["match_id"],
        given["rematch_of"],
        given["join"],
        settings,
        given["series"],
        0 if settings.stake_coins else bots,
        LEVELS[given["level"]],
        given["invited"],
        _link_secret(given),
    )


def _link_secret(given: dict[str, Any]) -> bytes:
    """Return the secret typed, or a new one for a private table, or nothing."""
    if given["private"]:
        return secrets.token_bytes(_LINK_SECRET_BYTES)
    try:
        return bytes.fromhex(given["link"] or "")
    except ValueError as error:
        raise click.UsageError("--link takes hexadecimal digits") from error


def _repeated_options(context: click.Context) -> list[str]:
    """Return the options for the server and the caller as they were typed."""
    words = []
    for option in context.command.params:
        if option.name not in _REPEATED_OPTIONS:
            continue
        value = context.params[option.name]
        source = context.get_parameter_source(option.name)  # None if `durak practice` calls
        if value is True:
            words.append(option.opts[0])
        elif value and source in (ParameterSource.COMMANDLINE, None):
            words += [option.opts[0], str(value)]
    return words


async def _list(connection: Connection, translate: Translate) -> None:
    console = new_console()
    async with connection.client() as client:
        for match in await open_tables(client):
            free = sum(not seat.taken for seat in match.seats)
            fields = (
                match.match_id,
                translate("seats-free", count=free),
                player_name(match.owner_id),
                settings_line(match.settings, translate),
            )
            print_fields(console, fields)


async def _play(
    connection: Connection, plan: Plan, translate: Translate, next_steps: NextSteps
) -> None:
    terminal = Terminal()

    def report(is_connected: bool) -> None:  # noqa: FBT001 - a callback
        key = "connection-back" if is_connected else "connection-lost"
        terminal.print(translate(key), style="dim")

    async with connection.interactive_client(report) as client:
        folder = PromiseFolder(connection.data_dir)
        deal = FairDeal(client, folder, connection.player_id)
        match_id = await sit_down(client, plan, deal)
        if plan.link_secret and plan.match_id is None:
            terminal.print_hint(next_steps.share(match_id, plan.link_secret))
        game = Game(client, match_id, deal, terminal, translate)
        try:
            has_ended = await game.play()
        except asyncio.CancelledError:  # Ctrl-C
            terminal.print("")
            terminal.print_hint(next_steps.resume(game.view))
            raise
        if not has_ended and not game.has_left_seat:
            terminal.print_hint(next_steps.resume(game.view))
            return
        if not game.has_left_seat and not game.view.HasField("your_seat"):
            return
        if has_ended and (checked := deal.check(match_id, game.events)):
            terminal.print(translate(checked.key, **checked.variables), style=checked.style)
        if coins := await _balance(client, game.view, translate):
            terminal.print(coins, style="dim")
        if has_ended:
            for hint in next_steps.after(game.view):
                terminal.print_hint(hint)


async def _balance(client: Client, view: TableView, translate: Translate) -> str | None:
    """Return the player's coins after a match for a stake."""
    if not view.settings.stake_coins:
        return None
    stub = WalletServiceStub(client.channel)
    answer = await client.call(stub.GetBalance, wallet.GetBalanceRequest())
    return balance_line(answer.balance, translate)
