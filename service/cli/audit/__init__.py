"""`durak audit`: what stands in the log, open and judged by the second implementation of the rules.

By itself it reads the database, past all roles, and shows every hand: for whoever runs the service.
With --server it asks the service, which answers auditors alone.
"""

import click

from service.cli.audit.proofs import checkpoint_command, proof_command
from service.cli.audit.records import (
    export_command,
    records_command,
    report_command,
    state_command,
)
from service.cli.audit.verdicts import match_command, payouts_command


class AuditGroup(click.Group):
    """The commands of `durak audit`; what is none of them is the match to audit."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `match` before arguments that name no command."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["match", *args]
        return super().parse_args(ctx, args)


@click.group("audit", cls=AuditGroup)
def audit_command() -> None:
    """Judge matches: `durak audit MATCH`, `durak audit --all`; show them open; prove them.

    It reads the database itself, past all roles. With --server it asks the service instead, which
    answers auditors alone. docs/auditor.md leads from a complaint to a ruling.

    Exit code 0: no fault. 1: there are faults, each on a line.
    """


for _command in (
    match_command, payouts_command, records_command, state_command, export_command,
    report_command, checkpoint_command, proof_command,
):  # fmt: skip
    audit_command.add_command(_command)
