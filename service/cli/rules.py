"""`durak rules`: the rules of a table in words, at a terminal."""

import asyncio
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from domain.presets import PRESETS
from durak.v1 import rules_service_pb2 as api
from durak.v1.rules_service_pb2_grpc import RulesServiceStub
from service.cli.client import Client
from service.cli.connection import SERVER
from service.cli.play import CIRCLES, settings_of
from service.cli.terminal import new_console
from service.config import Config
from service.localisation import LANGUAGES


@click.command()
@click.option("--presets", is_flag=True, help="List the presets, no more.")
@click.option("--deck", type=click.Choice(["24", "36", "52"]), help="Cards. [default: 36]")
@click.option("--seats", type=click.IntRange(2, 6), help="Seats. [default: 2]")
@click.option("--throw-in", type=click.Choice(list(CIRCLES)), help="Who throws in. [default: all]")
@click.option("--transfer/--no-transfer", default=None, help="Perevodnoy, or podkidnoy (default).")
@click.option("--draws/--no-draws", default=None, help="Can it be a draw? [default: yes]")
@click.option("--five-card-opening", is_flag=True, default=None, help="Five cards at first.")
@click.option("--tricky", is_flag=True, default=None, help="Illegal cards stand until challenged.")
@click.option("--timer", type=click.IntRange(0, 86_400), help="Seconds for a move. [default: none]")
@click.option("--stake", type=click.IntRange(0, 10**9), help="Coins of each seat. [default: none]")
@click.option("--preset", type=click.Choice(list(PRESETS)), help="A table by its name.")
@click.option("--clauses", is_flag=True, help="Name the clauses of the rules.")
@SERVER
@click.option(
    "--ca", type=click.Path(path_type=Path, exists=True), help="Trusted (PEM); turns TLS on."
)
@click.option(
    "--language",
    type=click.Choice(LANGUAGES),
    default="en",
    envvar="DURAK_LANGUAGE",
    show_envvar=True,
)
def rules(**given: Any) -> None:  # noqa: ANN401 - the options above
    """Show the rules of a table. The options choose it as those of `durak play` do."""
    config = Config()
    address = given["server"] or f"{config.listen_host}:{config.listen_port}"
    asyncio.run(_rules(address, given))


async def _rules(address: str, given: dict[str, Any]) -> None:
    async with Client(address, "", language=given["language"], certificate=given["ca"]) as client:
        stub = RulesServiceStub(client.channel)
        console = new_console()
        if given["presets"]:
            listed: api.ListPresetsResponse = await client.call(
                stub.ListPresets, api.ListPresetsRequest(), repeats=False
            )
            for preset in listed.presets:
                console.print(f"{preset.name:<22}{preset.title}: {preset.description}")
            return
        request = api.GetRuleSheetRequest(settings=settings_of(given))
        answer: api.GetRuleSheetResponse = await client.call(
            stub.GetRuleSheet, request, repeats=False
        )
        _show(answer.sheet, console, clauses=given["clauses"])


def _show(sheet: api.RuleSheet, console: Console, *, clauses: bool) -> None:
    console.print(sheet.title, style="bold")
    console.print(sheet.variant)
    for section in sheet.sections:
        console.print("")
        console.print(section.title, style="bold")
        for number, line in enumerate(section.lines, 1):
            bullet = f"{number}." if section.ordered else "•"
            named = f" ({', '.join(line.clauses)})" if clauses else ""
            console.print(f"  {bullet} {line.text}{named}")
