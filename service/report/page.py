"""The report as one HTML file: nothing is loaded from anywhere, and nothing is sent anywhere.

It is made from a transcript and what its verification says. The log of moves, with the findings
beside them, is plain HTML; a script draws the table of the chosen move.
"""

import base64
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from typing import Any, Final, cast
from uuid import UUID

from google.protobuf.message import DecodeError

from domain.audit import Cheat, Finding, Severity
from domain.audit.transcript import Outcome, Verification, verify
from domain.cards import Card, card_name
from durak.v1.events_pb2 import Record, SeatTaken, TableOpened
from durak.v1.transcript_pb2 import LedgerEntry, LedgerEntryKind, Transcript
from service.render.texts import Names, printable, settings_line, translator
from service.report.frames import Frame, frames
from service.text.card_text import CardTexts
from service.text.localisation import Translate

_FOLDER: Final = Path(__file__).parent
_HASH: Final = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{20,}\b")
_LABELS: Final = (
    "attacks",
    "defends",
    "takes",
    "passed",
    "clock",
    "none",
    "table",
    "empty",
    "trumps",
    "stock",
    "discard",
    "undealt",
    "broken",
)
"""The texts that the script needs as they are."""


class NoTranscriptError(Exception):
    """The file is not a transcript, or an empty one: there is nothing to draw."""


def report(data: bytes, public_key: str | None, language: str) -> str:
    """The page of a transcript. Raises NoTranscriptError."""
    found = verify(data, public_key)
    if found.report is None:
        raise NoTranscriptError(str(found.findings[0]))
    transcript = Transcript.FromString(data)
    if not transcript.records:
        raise NoTranscriptError("it has no records")
    texts, translate_table = CardTexts("report"), translator(language)

    def translate(key: str, **arguments: str | int) -> str:
        return texts.format(key, language, arguments)

    told = list(frames((one.record for one in transcript.records), translate_table))
    remarks = _remarks(found, translate)
    style, script = _part("page.css"), _part("page.js")
    names, opened = _seats(transcript, translate_table)
    shown = {
        "texts": _labels(translate),
        "ranks": texts.spelling.ranks(language),
        "names": names,
        "frames": [
            {
                "version": frame.version,
                "bout": bool(frame.bout),
                "lines": frame.lines,
                "findings": remarks[frame.version],
                "card": frame.card,
                "mark": _mark(remarks[frame.version]),
                "table": frame.table,
            }
            for frame in told
        ],
    }
    return Template(_part("page.html")).substitute(
        language=language,
        policy=escape(_policy(style, script)),
        style=style,
        script=script,
        title=escape(translate("title", match=str(UUID(bytes=transcript.match_id)))),
        outcome=found.outcome.value,
        verdict=escape(_verdict(found, translate)),
        summary=_summary(found, translate),
        details=_about(found, names, opened, translate, translate_table)
        + _details(found, transcript, translate),
        last=len(told) - 1,
        log=_log(told, remarks),
        data=_json(shown),
        **{field: escape(translate(field.replace("_", "-"))) for field in _FIELDS},
    )


_FIELDS: Final = (
    "board_heading",
    "controls",
    "slider",
    "first",
    "back",
    "next",
    "end",
    "hands",
    "next_finding",
    "keys_heading",
    "keys",
    "moves_heading",
    "no_script",
    "footer",
)
"""The texts of the page that say nothing of the match."""

_Remarks = defaultdict[int, list[tuple[str, str]]]
"""By version: what kind of remark (fault, note, illegal), and its text. 0: of no record."""


def _remarks(found: Verification, translate: Translate) -> _Remarks:
    remarks: _Remarks = defaultdict(list)
    for finding in found.findings:
        is_fault = finding.severity is Severity.FAULT
        remarks[finding.version].append(
            ("fault" if is_fault else "note", _finding(finding, translate))
        )
    for cheat in found.report.cheats if found.report else ():
        remarks[cheat.version].append(("illegal", _cheat(cheat, translate)))
    return remarks


def _mark(remarks: Sequence[tuple[str, str]]) -> str:
    """How the card of a record is marked: by the worst that is said of the record."""
    kinds = {kind for kind, _ in remarks}
    return next((kind for kind in ("fault", "illegal") if kind in kinds), "now")


def _finding(finding: Finding, translate: Translate) -> str:
    key = "fault" if finding.severity is Severity.FAULT else "note"
    return translate(
        key,
        kind=finding.kind.value,
        clause=finding.clause,
        expected=_shortened(finding.expected),
        found=_shortened(finding.found),
    )


def _shortened(text: str) -> str:
    """A text with only the beginnings of hashes, which differ from there on."""
    return _HASH.sub(r"\1…", text)


def _cheat(cheat: Cheat, translate: Translate) -> str:
    card = card_name(cast("Card", cheat.card))
    key = "illegal-caught" if cheat.caught_by else "illegal"
    return translate(key, card=card, clause=cheat.clause, version=cheat.caught_by)


# --- the parts of the page ------------------------------------------------------------------------


def _seats(transcript: Transcript, translate: Translate) -> tuple[list[str], TableOpened]:
    """What each seat is called at the end, and the opening; as far as the records can be read."""
    names, opened, taken = Names(translate), TableOpened(), dict[int, SeatTaken]()
    for one in transcript.records:
        try:
            event = Record.FromString(one.record).event
        except DecodeError:
            continue  # the audit says so
        match event.WhichOneof("kind"):
            case "table_opened":
                opened = event.table_opened
            case "seat_taken":
                taken[event.seat_taken.seat] = event.seat_taken
            case "dealt":
                break
    for seat, who in sorted(taken.items()):
        names.add(seat, who.display_name or who.player_id, who.bot_level)
    return [names[seat] for seat in range(min(opened.settings.seats, 6))], opened


def _about(
    found: Verification,
    names: Sequence[str],
    opened: TableOpened,
    translate: Translate,
    translate_table: Translate,
) -> str:
    assert found.report is not None
    facts = found.report.facts
    lines = [
        settings_line(opened.settings, translate_table),
        translate("players", players=", ".join(names)),
        translate("times", start=_time(facts.started_us), end=_time(facts.ended_us)),
        translate(
            "state", state="ended" if facts.is_ended else "running", records=facts.head_version
        ),
    ]
    body = "".join(f"<p>{escape(line)}</p>" for line in lines)
    return f"<details><summary>{escape(translate('about'))}</summary>{body}</details>"


def _time(time_us: int) -> str:
    try:
        return f"{datetime.fromtimestamp(time_us / 1e6, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f"{time_us} µs"


def _verdict(found: Verification, translate: Translate) -> str:
    faults = sum(1 for finding in found.findings if finding.severity is Severity.FAULT)
    key = {
        Outcome.PROVEN: "verdict-proven",
        Outcome.CONSISTENT: "verdict-consistent",
        Outcome.REFUTED: "verdict-refuted",
    }[found.outcome]
    return translate(key, faults=faults)


def _summary(found: Verification, translate: Translate) -> str:
    """All faults, each with the way to its record."""
    items = []
    for finding in found.findings:
        if finding.severity is Severity.FAULT:
            text = escape(_finding(finding, translate))
            link = f'<a href="#at={finding.version}">{finding.version}</a>: '
            items.append(f"<li>{link if finding.version else ''}{text}</li>")
    return f"<ul>{''.join(items)}</ul>" if items else ""


def _details(found: Verification, transcript: Transcript, translate: Translate) -> str:
    parts = [
        (translate("proven"), _listed(found.proven)),
        (translate("not-proven"), _listed(found.not_proven)),
        (translate("coins"), _coins(transcript.ledger, translate)),
    ]
    return "".join(
        f"<details><summary>{escape(title)}</summary>{body}</details>"
        for title, body in parts
        if body
    )


def _coins(ledger: Sequence[LedgerEntry], translate: Translate) -> str:
    rows = [
        f'<tr><td class="number">{entry.version}</td><td>{escape(printable(entry.player_id))}</td>'
        f"<td>{escape(_kind(entry.kind))}</td>"
        f'<td class="number">{entry.coins:+d}</td></tr>'
        for entry in ledger
        if entry.player_id
    ]
    if not rows:
        return ""
    heads = (translate(f"coins-{column}") for column in ("version", "player", "kind", "amount"))
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "".join(rows)
    return (
        f'<div class="scroll"><table class="coins"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _kind(kind: LedgerEntryKind.ValueType) -> str:
    known = LedgerEntryKind.values()
    text = LedgerEntryKind.Name(kind) if kind in known else str(kind)
    return text.removeprefix("LEDGER_ENTRY_KIND_").lower()


def _log(told: Sequence[Frame], remarks: _Remarks) -> str:
    items = []
    for at, frame in enumerate(told):
        if frame.bout:
            items.append(f'<li><h3 class="bout">{escape(frame.bout)}</h3></li>')
        lines = "".join(f'<span class="line">{escape(line)}</span>' for line in frame.lines)
        remarked = "".join(
            f'<li class="{kind}">{escape(text)}</li>' for kind, text in remarks[frame.version]
        )
        items.append(
            f'<li id="v{frame.version}"><button type="button" data-at="{at}">'
            f'<span class="version">{frame.version}</span><span>{lines}</span></button>'
            + (f'<ul class="findings">{remarked}</ul>' if remarked else "")
            + "</li>"
        )
    return f'<ol class="log">{"".join(items)}</ol>'


def _listed(lines: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def _labels(translate: Translate) -> dict[str, str]:
    """The texts of the script; it fills in what stands in braces by itself."""
    return {label: translate(f"label-{label}") for label in _LABELS} | {
        "out": translate("label-out", place="{place}"),
        "closed": translate("label-closed", count="{count}"),
        "beaten": translate("label-beaten", attack="{attack}", defence="{defence}"),
    }


def _json(shown: dict[str, Any]) -> str:
    """JSON that cannot end the element which it stands in, whatever players call themselves."""
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _policy(style: str, script: str) -> str:
    """Nothing but this style and this script: no network, even if a name were to break out."""
    hashes = (base64.b64encode(sha256(part.encode()).digest()).decode() for part in (style, script))
    style_hash, script_hash = hashes
    return (
        f"default-src 'none'; style-src 'sha256-{style_hash}'; script-src 'sha256-{script_hash}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _part(file: str) -> str:
    return (_FOLDER / file).read_text("utf-8")
