"""`durak audit checkpoint` and `proof`: that nothing which was signed for has changed since."""

import sys
from collections.abc import Sequence
from typing import Final, TextIO
from uuid import UUID

import click

from domain.transparency import checkpoint, merkle
from domain.transparency.checkpoint import Checkpoint, NoteError, VerifierKey
from durak.v1 import audit_service_pb2 as api
from service.cli.audit.source import Access, with_audit_access
from service.cli.verify import read_key

EXIT_REFUTED: Final = 1
_KEYS: Final = click.option(
    "--key",
    "keys",
    metavar="KEY|FILE",
    multiple=True,
    envvar="DURAK_VERIFIER_KEY",
    show_envvar=True,
    help="The service's public key, and those before it: what none has signed is refused.",
)


@click.command("checkpoint")
@click.option(
    "--since",
    type=click.File("r", encoding="utf-8"),
    help="An older checkpoint, which the newest must continue.",
)
@_KEYS
@with_audit_access
def checkpoint_command(
    *,
    access: Access,
    since: TextIO | None,
    keys: Sequence[str],
) -> None:
    """Print the newest signed checkpoint.

    With --since, say whether it continues the older one: every leaf of that is still there,
    unchanged, in its place. With keys, each of the two must be signed by one of them.
    """
    public_keys = _parsed(keys)
    try:
        old = None if since is None else _read(since.read(), public_keys)
        size = None if old is None else old.size
        found = access.ask(lambda source: source.checkpoint(size))
        new = _read(found.checkpoint, public_keys)
    except NoteError as error:
        raise click.ClickException(str(error)) from error
    click.echo(found.checkpoint, nl=False)
    if old is None:
        return
    if not _continues(old, new, list(found.consistency_hashes)):
        click.echo("durak: the newest checkpoint does not continue the older one", err=True)
        sys.exit(EXIT_REFUTED)
    click.echo(f"It continues the older one, of {old.size} matches.", err=True)


def _parsed(keys: Sequence[str]) -> list[VerifierKey]:
    return [VerifierKey.parse(read_key(key)) for key in keys]


def _read(note: str, keys: Sequence[VerifierKey]) -> Checkpoint:
    """A checkpoint that one of the keys has signed; without keys any. Raises NoteError."""
    for key in keys[:-1]:
        try:
            return checkpoint.verify_checkpoint(note, key)
        except NoteError:
            continue  # the next one, then
    if keys:
        return checkpoint.verify_checkpoint(note, keys[-1])
    return Checkpoint.parse(checkpoint.split(note)[0])


def _continues(old: Checkpoint, new: Checkpoint, proof: list[bytes]) -> bool:
    return old.size <= new.size and merkle.verify_consistency(
        old.size, new.size, proof, old.root, new.root
    )


@click.command("proof", short_help="Prove that a match stands in the signed tree.")
@click.argument("match_id", metavar="MATCH", type=click.UUID)
@_KEYS
@with_audit_access
def proof_command(
    *,
    access: Access,
    match_id: UUID,
    keys: Sequence[str],
) -> None:
    """Prove that MATCH stands in the tree of the newest checkpoint, by its last hash alone."""
    public_keys = _parsed(keys)
    found = access.ask(lambda source: source.inclusion(match_id))
    try:
        signed = _read(found.checkpoint, public_keys)
    except NoteError as error:
        raise click.ClickException(str(error)) from error
    proof = found.inclusion
    click.echo(f"match {match_id}: version {found.last_version}, hash {found.head_hash.hex()}")
    click.echo(f"leaf {proof.leaf_index} of {proof.tree_size}")
    for one in proof.hashes:
        click.echo(f"  {one.hex()}")
    click.echo(found.checkpoint, nl=False)
    if not _stands(found, match_id, signed):
        click.echo("durak: the proof does not lead to the root of the checkpoint", err=True)
        sys.exit(EXIT_REFUTED)


def _stands(found: api.GetInclusionProofResponse, match_id: UUID, signed: Checkpoint) -> bool:
    leaf = merkle.match_leaf(match_id.bytes, found.last_version, found.head_hash)
    proof = found.inclusion
    place = proof.leaf_index, proof.tree_size, list(proof.hashes)
    return signed.size == proof.tree_size and merkle.verify_inclusion(
        merkle.leaf_hash(leaf), *place, signed.root
    )
