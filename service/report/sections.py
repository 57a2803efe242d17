"""The parts of the page as HTML. Every text from a transcript is escaped here."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Final

from domain.audit import Severity
from domain.audit.transcript import Outcome, Verification
from durak.v1.settings_pb2 import Settings
from durak.v1.transcript_pb2 import LedgerEntry
from service.render.audit import entry_kind
from service.render.texts import format_utc, printable, settings_line
from service.report.frames import Frame
from service.report.remarks import Remark, finding_text
from service.text.localisation import Translate

_VERDICTS: Final = {
    Outcome.PROVEN: "verdict-proven",
    Outcome.CONSISTENT: "verdict-consistent",
    Outcome.REFUTED: "verdict-refuted",
}


def verdict(found: Verification, translate: Translate) -> str:
    """Return the verdict in one sentence."""
    faults = sum(finding.severity is Severity.FAULT for finding in found.findings)
    return escape(translate(_VERDICTS[found.outcome], faults=faults))


def summary(found: Verification, translate: Translate) -> str:
    """Return a list of all faults, each with a link to its record."""
    items = []
    for finding in found.findings:
        if finding.severity is Severity.FAULT:
            text = escape(finding_text(finding, translate))
            link = f'<a href="#at={finding.version}">{finding.version}</a>: '
            items.append(f"<li>{link if finding.version else ''}{text}</li>")
    return f"<ul>{''.join(items)}</ul>" if items else ""


def about(
    found: Verification,
    names: Sequence[str],
    settings: Settings,
    translate: Translate,
    translate_table: Translate,
) -> str:
    """Return the settings, players and times of the match."""
    assert found.report is not None
    facts = found.report.facts
    start, end = format_utc(facts.started_us), format_utc(facts.ended_us)
    state = "ended" if facts.is_ended else "running"
    lines = [
        settings_line(settings, translate_table),
        translate("players", players=", ".join(names)),
        translate("times", start=start, end=end),
        translate("state", state=state, records=facts.head_version),
    ]
    return _foldable(translate("about"), "".join(f"<p>{escape(line)}</p>" for line in lines))


def evidence(found: Verification, ledger: Sequence[LedgerEntry], translate: Translate) -> str:
    """Return the proven facts, the unproven facts and the coins, without empty parts."""
    parts = {
        "proven": _listed(found.proven),
        "not-proven": _listed(found.not_proven),
        "coins": _coins(ledger, translate),
    }
    return "".join(_foldable(translate(key), body) for key, body in parts.items() if body)


def log(frames: Sequence[Frame], remarks: Mapping[int, Sequence[Remark]]) -> str:
    """Return the list of records with their sentences and remarks, headed by bout."""
    items = []
    for index, frame in enumerate(frames):
        if frame.bout:
            items.append(f'<li><h3 class="bout">{escape(frame.bout)}</h3></li>')
        lines = "".join(f'<span class="line">{escape(line)}</span>' for line in frame.lines)
        findings = "".join(
            f'<li class="{remark.kind}">{escape(remark.text)}</li>'
            for remark in remarks.get(frame.version, ())
        )
        items.append(
            f'<li id="v{frame.version}"><button type="button" data-at="{index}">'
            f'<span class="version">{frame.version}</span><span>{lines}</span></button>'
            + (f'<ul class="findings">{findings}</ul>' if findings else "")
            + "</li>"
        )
    return f'<ol class="log">{"".join(items)}</ol>'


def _coins(ledger: Sequence[LedgerEntry], translate: Translate) -> str:
    rows = [
        f'<tr><td class="number">{entry.version}</td><td>{escape(printable(entry.player_id))}</td>'
        f"<td>{escape(translate('coins-entry', kind=entry_kind(entry)))}</td>"
        f'<td class="number">{entry.coins:+d}</td></tr>'
        for entry in ledger
        if entry.player_id
    ]
    if not rows:
        return ""
    heads = (translate(f"coins-{column}") for column in ("version", "player", "kind", "amount"))
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    return (
        f'<div class="scroll"><table class="coins"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _listed(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def _foldable(title: str, body: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{body}</details>"
