"""Reads matches together with their leaves in the signed tree, to be judged."""

from collections.abc import Sequence
from uuid import UUID

from eventstore import EventStore
from eventstore.checkpoints import LeafKind
from service.checkpoints.seals import Seals
from service.judging.judge import Case


async def read_cases(store: EventStore, seals: Seals, match_ids: Sequence[UUID]) -> list[Case]:
    """Return these matches, in order, each with its leaf."""
    sealed = await seals.read(LeafKind.MATCH, match_ids)
    matches = await store.whole_matches.read(match_ids)
    return [Case(match, sealed.get(match.match_id, ())) for match in matches]
