"""`durak audit`: check and show matches with the second implementation of the rules.

Without --server, the commands read the database, check no role and show every hand: they are for
operators. With --server they call AuditService, which needs the role auditor.
"""

import click

from service.cli.audit.files import export_command, report_command
from service.cli.audit.flags import flags_command
from service.cli.audit.proofs import checkpoint_command, proof_command
from service.cli.audit.records import records_command, state_command
from service.cli.audit.verdicts import match_command, payouts_command


class AuditGroup(click.Group):
    """The commands of `durak audit`. An unknown command is the id of a match to audit."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the command `match` unless the first argument is a command or asks for help."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["match", *args]
        return super().parse_args(ctx, args)


@click.group("audit", cls=AuditGroup)
def audit_command() -> None:
    """Check matches, payouts and checkpoints, and show matches with all cards.

    `durak audit MATCH` checks one match, `durak audit --all` checks all.

    Reads the database itself; with --server, asks the service as an auditor. docs/auditor.md shows
    the whole way from a complaint to a ruling.

    Exit codes: 0 no faults; 1 faults found, each on a line.
    """


for _command in (
    match_command, payouts_command, records_command, state_command, export_command,
    report_command, checkpoint_command, proof_command, flags_command,
):  # fmt: skip
    audit_command.add_command(_command)
