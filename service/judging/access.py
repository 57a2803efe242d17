"""Which matches an auditor may see open: none at which they could play, or could have."""

from domain.dispute import facts_of
from durak.v1 import errors_pb2 as reasons
from eventstore.whole_matches import WholeMatch
from service.judging.messages import readable_records
from service.rpc.errors import refuse


def check_openable(match: WholeMatch, auditor_id: str) -> None:
    """Refuse a match at which the auditor has or had a seat, or seats can still be taken.

    Raises Refused OWN_MATCH or MATCH_NOT_DEALT.
    """
    facts = facts_of(readable_records(match.records))
    if auditor_id in facts.ever_sat:
        raise refuse(reasons.ERROR_REASON_OWN_MATCH, match_id=str(match.match_id))
    if not facts.is_dealt:
        raise refuse(reasons.ERROR_REASON_MATCH_NOT_DEALT, match_id=str(match.match_id))
