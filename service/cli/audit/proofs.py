"""`durak audit checkpoint` and `proof`: proofs of the transparency log."""

import sys
from collections.abc import Sequence
from typing import Final, TextIO
from uuid import UUID

import click

from domain.transparency import checkpoint, merkle
from domain.transparency.checkpoint import Checkpoint, NoteError, VerifierKey
from durak.v1 import audit_service_pb2 as api
from service.cli.audit.source import Access, Source, with_audit_access
from service.cli.exits import EXIT_FAILED, CommandError
from service.cli.options import MATCH
from service.cli.verify import read_key

_KEYS: Final = click.option(
    "--key",
    "keys",
    metavar="KEY|FILE",
    multiple=True,
    envvar="DURAK_VERIFIER_KEY",
    help="Public key of the service, or a file with it; repeatable after a rotation. A checkpoint "
    "without a signature by one of them is refused.  [env var: DURAK_VERIFIER_KEY]",
)


@click.command("checkpoint")
@click.option(
    "--since",
    type=click.File("r", encoding="utf-8"),
    help="File with an older checkpoint that the newest must continue.",
)
@_KEYS
@with_audit_access
def checkpoint_command(*, access: Access, since: TextIO | None, keys: Sequence[str]) -> None:
    """Print the newest signed checkpoint.

    With --since, check that it continues the older one: all leaves of the older tree are unchanged
    and in the same place. Exit code 1 if not.
    """
    public_keys = _parse_keys(keys)
    try:
        old = None if since is None else _verify(since.read(), public_keys)
        size = None if old is None else old.size
        found = access.query(lambda source: source.checkpoint(size))
        new = _verify(found.checkpoint, public_keys)
    except NoteError as error:
        raise CommandError(str(error)) from error
    except UnicodeDecodeError as error:
        raise CommandError(f"the older checkpoint is not a text file: {error}") from error
    click.echo(found.checkpoint, nl=False)
    if old is None:
        return
    if not _continues(old, new, list(found.consistency_hashes)):
        click.echo("durak: the newest checkpoint does not continue the older one", err=True)
        sys.exit(EXIT_FAILED)
    click.echo(f"Continues the older checkpoint of {old.size} leaves.", err=True)


def _parse_keys(keys: Sequence[str]) -> list[VerifierKey]:
    return [VerifierKey.parse(read_key(key)) for key in keys]


def _verify(note: str, keys: Sequence[VerifierKey]) -> Checkpoint:
    """Return a checkpoint signed by one of the keys; any checkpoint if there are no keys.

    Raises NoteError.
    """
    for key in keys[:-1]:
        try:
            return checkpoint.verify_checkpoint(note, key)
        except NoteError:
            continue  # try the next key
    if keys:
        return checkpoint.verify_checkpoint(note, keys[-1])
    return Checkpoint.parse(checkpoint.split(note)[0])


def _continues(old: Checkpoint, new: Checkpoint, proof: list[bytes]) -> bool:
    return old.size <= new.size and merkle.verify_consistency(
        old.size, new.size, proof, old.root, new.root
    )


@click.command("proof", short_help="Prove that a match or dispute is in the newest checkpoint.")
@MATCH
@click.option("--dispute", "is_dispute", is_flag=True, help="MATCH is the id of a dispute.")
@_KEYS
@with_audit_access
def proof_command(*, access: Access, match_id: UUID, is_dispute: bool, keys: Sequence[str]) -> None:
    """Prove that MATCH is in the newest checkpoint, and print the proof.

    Exit code 1 if the proof is wrong, or if the stored records are not those that were signed.
    """
    public_keys = _parse_keys(keys)
    read = _read_dispute if is_dispute else _read_match
    found, stored = access.query(lambda source: read(source, match_id))
    try:
        signed = _verify(found.checkpoint, public_keys)
    except NoteError as error:
        raise CommandError(str(error)) from error
    proof = found.inclusion
    name = "dispute" if is_dispute else "match"
    click.echo(f"{name} {match_id}: version {found.last_version}, hash {found.head_hash.hex()}")
    click.echo(f"leaf {proof.leaf_index} of {proof.tree_size}")
    for one in proof.hashes:
        click.echo(f"  {one.hex()}")
    click.echo(found.checkpoint, nl=False)
    label = merkle.DISPUTE_LEAF if is_dispute else merkle.MATCH_LEAF
    if not _includes(signed, found, label, match_id):
        click.echo("durak: the proof does not lead to the root of the checkpoint", err=True)
        sys.exit(EXIT_FAILED)
    if stored != (found.last_version, found.head_hash):
        text = f"version {stored[0]}, hash {stored[1].hex()}"
        click.echo(f"durak: the stored records are not the signed ones: {text}", err=True)
        sys.exit(EXIT_FAILED)


_Proof = tuple[api.GetInclusionProofResponse, tuple[int, bytes]]
"""The proof of a leaf, and the version and hash in the store that it must name."""


async def _read_match(source: Source, match_id: UUID) -> _Proof:
    found, report = await source.inclusion(match_id), await source.report(match_id)
    return found, (report.head_version, report.head_hash)


async def _read_dispute(source: Source, dispute_id: UUID) -> _Proof:
    # A dispute grows after its leaf: the version of the leaf counts, not the last one.
    found = await source.dispute_inclusion(dispute_id)
    hashes = await source.dispute_hashes(dispute_id)
    version = min(found.last_version, len(hashes))
    return found, (version, hashes[version - 1] if hashes else b"")


def _includes(
    signed: Checkpoint, found: api.GetInclusionProofResponse, label: bytes, stream_id: UUID
) -> bool:
    leaf = merkle.stream_leaf(label, stream_id.bytes, found.last_version, found.head_hash)
    proof = found.inclusion
    position = proof.leaf_index, proof.tree_size, list(proof.hashes)
    return signed.size == proof.tree_size and merkle.verify_inclusion(
        merkle.leaf_hash(leaf), *position, signed.root
    )
