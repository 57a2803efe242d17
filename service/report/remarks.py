"""The findings and illegal plays of an audit as sentences, by version of the record."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, cast

from domain.audit import Cheat, Finding, Severity
from domain.audit.transcript import Verification
from domain.cards import Card, card_name
from service.text.localisation import Translate

_HASH: Final = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{20,}\b")


class Remark(NamedTuple):
    """A sentence about a record. `kind` is fault, note or illegal, also a class of the CSS."""

    kind: str
    text: str


def remarks_by_version(found: Verification, translate: Translate) -> Mapping[int, list[Remark]]:
    """Return the remarks on each version. Version 0 has those on no single record."""
    remarks: defaultdict[int, list[Remark]] = defaultdict(list)
    for finding in found.findings:
        kind = "fault" if finding.severity is Severity.FAULT else "note"
        remarks[finding.version].append(Remark(kind, finding_text(finding, translate)))
    for cheat in found.report.cheats if found.report else ():
        remarks[cheat.version].append(Remark("illegal", _cheat_text(cheat, translate)))
    return remarks


def card_mark(remarks: Sequence[Remark]) -> str:
    """Return the CSS class for the card of a record: the worst remark, or ``now``."""
    kinds = {remark.kind for remark in remarks}
    return next((kind for kind in ("fault", "illegal") if kind in kinds), "now")


def finding_text(finding: Finding, translate: Translate) -> str:
    """Return a finding as a sentence, with hashes shortened to 12 digits."""
    return translate(
        "fault" if finding.severity is Severity.FAULT else "note",
        kind=finding.kind.value,
        clause=finding.clause,
        expected=_HASH.sub(r"\1…", finding.expected),
        found=_HASH.sub(r"\1…", finding.found),
    )


def _cheat_text(cheat: Cheat, translate: Translate) -> str:
    card = card_name(cast("Card", cheat.card))
    key = "illegal-caught" if cheat.caught_by else "illegal"
    return translate(key, card=card, clause=cheat.clause, version=cheat.caught_by)
