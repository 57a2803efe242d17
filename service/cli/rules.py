"""`durak rules`: the rules of a table in words."""

import asyncio
from typing import Any

import click
from rich.console import Console

from durak.v1 import rules_service_pb2 as api
from durak.v1.rules_service_pb2_grpc import RulesServiceStub
from service.cli.client import Client
from service.cli.endpoint import Endpoint, endpoint_of
from service.cli.options import (
    CERTIFICATE,
    LANGUAGE,
    PLAINTEXT,
    SERVER,
    TABLE,
    table_settings,
    with_options,
)
from service.cli.terminal import new_console, print_fields, print_item
from service.config import Config


@click.command()
@click.option("--presets", is_flag=True, help="List the presets instead.")
@with_options(*TABLE)
@click.option("--clauses", is_flag=True, help="Show the clause numbers of the rules.")
@with_options(SERVER, CERTIFICATE, PLAINTEXT, LANGUAGE)
def rules(**given: Any) -> None:  # noqa: ANN401 - the options above
    """Show the rules of a table with the settings given, as for `durak play`."""
    endpoint = endpoint_of(given, Config())
    asyncio.run(_rules(endpoint, given))


async def _rules(endpoint: Endpoint, given: dict[str, Any]) -> None:
    async with Client(endpoint, "", language=given["language"]) as client:
        stub = RulesServiceStub(client.channel)
        console = new_console()
        if given["presets"]:
            listed: api.ListPresetsResponse = await client.call(
                stub.ListPresets, api.ListPresetsRequest(), retry=False
            )
            for preset in listed.presets:
                print_fields(
                    console, [f"{preset.name:<20}", f"{preset.title}: {preset.description}"]
                )
            return
        request = api.GetRuleSheetRequest(settings=table_settings(given))
        answer: api.GetRuleSheetResponse = await client.call(
            stub.GetRuleSheet, request, retry=False
        )
        _print_sheet(answer.sheet, console, clauses=given["clauses"])


def _print_sheet(sheet: api.RuleSheet, console: Console, *, clauses: bool) -> None:
    console.print(sheet.title, style="bold")
    console.print(sheet.variant)
    for section in sheet.sections:
        console.print("")
        console.print(section.title, style="bold")
        for number, line in enumerate(section.lines, 1):
            suffix = f" ({', '.join(line.clauses)})" if clauses else ""
            print_item(console, f"{number}." if section.ordered else "•", f"{line.text}{suffix}")
