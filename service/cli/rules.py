"""`durak rules`: the rules of a table in words, at a terminal."""

import asyncio
from typing import Any

import click
from rich.console import Console

from durak.v1 import rules_service_pb2 as api
from durak.v1.rules_service_pb2_grpc import RulesServiceStub
from service.cli.client import Client
from service.cli.options import (
    CERTIFICATE,
    LANGUAGE,
    SERVER,
    TABLE,
    server_address,
    table_settings,
    with_options,
)
from service.cli.terminal import new_console
from service.config import Config


@click.command()
@click.option("--presets", is_flag=True, help="List the presets, no more.")
@with_options(*TABLE)
@click.option("--clauses", is_flag=True, help="Name the clauses of the rules.")
@with_options(SERVER, CERTIFICATE, LANGUAGE)
def rules(**given: Any) -> None:  # noqa: ANN401 - the options above
    """Show the rules of a table. The options choose it as those of `durak play` do."""
    asyncio.run(_rules(server_address(given["server"], Config()), given))


async def _rules(address: str, given: dict[str, Any]) -> None:
    async with Client(
        address, "", language=given["language"], certificate=given["certificate"]
    ) as client:
        stub = RulesServiceStub(client.channel)
        console = new_console()
        if given["presets"]:
            listed: api.ListPresetsResponse = await client.call(
                stub.ListPresets, api.ListPresetsRequest(), repeats=False
            )
            for preset in listed.presets:
                console.print(f"{preset.name:<22}{preset.title}: {preset.description}")
            return
        request = api.GetRuleSheetRequest(settings=table_settings(given))
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
