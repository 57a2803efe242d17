"""The report as one HTML file that loads nothing and sends nothing.

It is made from a transcript and its verification alone. The log of moves and findings is plain
HTML; a script draws the table of the selected record.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from typing import Any, Final
from uuid import UUID

from google.protobuf.message import DecodeError

from domain.audit.transcript import verify
from durak.v1.events_pb2 import Record, SeatTaken
from durak.v1.settings_pb2 import Settings
from durak.v1.transcript_pb2 import Transcript
from service.render.texts import Names, translator
from service.report import sections
from service.report.frames import Frame, make_frames
from service.report.remarks import Remark, card_mark, remarks_by_version
from service.text.card_text import CardTexts
from service.text.localisation import Translate

_FOLDER: Final = Path(__file__).parent
_SCRIPT_TEXTS: Final = (
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
"""Messages `label-…` without variables that the script uses."""
_PAGE_TEXTS: Final = (
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
    "proof_heading",
    "proof_key",
    "proof_checks",
    "proof_limits",
    "proof_trust",
    "proof_save",
)
"""Placeholders of page.html that are filled with a message without variables."""
CHECKS: Final = (
    *("format", "link", "record", "chain", "seed", "end", "promises", "secrets", "hands", "trump"),
    *("stock", "first", "play", "cards", "ledger", "size", "tree", "key", "signed", "shown"),
)
"""The claims of verify.mjs, and `shown`, which the page itself checks. Messages `check-…`."""
_PROOFS: Final = ("proven", "crypto", "checkpoint", "key", "ed25519", "bad_key")
"""The states of the proof. Messages `proof-state-…`."""


class NoTranscriptError(Exception):
    """The file is not a transcript, or has no records."""


def render_report(data: bytes, public_key: str | None, language: str) -> str:
    """Return the page for a transcript file. Raises NoTranscriptError."""
    found = verify(data, public_key)
    if found.report is None:
        raise NoTranscriptError(str(found.findings[0]))
    transcript = Transcript.FromString(data)
    if not transcript.records:
        raise NoTranscriptError("it has no records")
    texts = CardTexts("report")
    translate, translate_table = texts.translator(language), translator(language)
    frames = list(make_frames((one.record for one in transcript.records), translate_table))
    remarks = remarks_by_version(found, translate)
    names, settings = _table(transcript, translate_table)
    shown = {
        "texts": _script_texts(translate),
        "ranks": texts.spelling.ranks(language),
        "names": names,
        "match": str(UUID(bytes=transcript.match_id)),
        "transcript": base64.b64encode(data).decode(),
        "frames": [_frame_data(frame, remarks.get(frame.version, ())) for frame in frames],
    }
    # A module with the verifier on top; the braces keep the names of the two parts apart.
    style, script = (
        _read_part("page.css"),
        f"{_read_part('verify.mjs')}{{\n{_read_part('page.js')}}}\n",
    )
    return Template(_read_part("page.html")).substitute(
        language=language,
        policy=escape(_policy(style, script)),
        style=style,
        script=script,
        title=escape(translate("title", match=str(UUID(bytes=transcript.match_id)))),
        outcome=found.outcome.value,
        verdict=sections.verdict(found, translate),
        summary=sections.summary(found, translate),
        details=sections.about(found, names, settings, translate, translate_table)
        + sections.evidence(found, transcript.ledger, translate),
        last=len(frames) - 1,
        log=sections.log(frames, remarks),
        data=_json(shown),
        **{field: escape(translate(field.replace("_", "-"))) for field in _PAGE_TEXTS},
    )


def _table(transcript: Transcript, translate: Translate) -> tuple[list[str], Settings]:
    """Return the names of the seats at the deal, and the settings. Skips unreadable records."""
    names, settings, taken = Names(translate), Settings(), dict[int, SeatTaken]()
    for one in transcript.records:
        try:
            event = Record.FromString(one.record).event
        except DecodeError:
            continue  # reported as a finding
        match event.WhichOneof("kind"):
            case "table_opened":
                settings = event.table_opened.settings
            case "seat_taken":
                taken[event.seat_taken.seat] = event.seat_taken
            case "dealt":
                break
    for seat, who in sorted(taken.items()):
        names.add(seat, who.display_name or who.player_id, who.bot_level)
    return [names[seat] for seat in range(min(settings.seats, 6))], settings


def _frame_data(frame: Frame, remarks: Sequence[Remark]) -> Mapping[str, Any]:
    """Return a frame for the script."""
    return {
        "version": frame.version,
        "bout": bool(frame.bout),
        "lines": frame.lines,
        "findings": remarks,
        "card": frame.card,
        "mark": card_mark(remarks),
        "table": frame.table,
    }


def _script_texts(translate: Translate) -> dict[str, Any]:
    """Return the texts of the script. The script replaces the words in braces."""
    proof = {state: translate(f"proof-state-{state.replace('_', '-')}") for state in _PROOFS}
    labels = {label: translate(f"label-{label}") for label in _SCRIPT_TEXTS}
    return labels | {
        "checks": {claim: translate(f"check-{claim}", value="{value}") for claim in CHECKS},
        "proof": proof | {"refuted": translate("proof-state-refuted", claim="{claim}")},
        "out": translate("label-out", place="{place}"),
        "closed": translate("label-closed", count="{count}"),
        "beaten": translate("label-beaten", attack="{attack}", defence="{defence}"),
    }


def _json(shown: dict[str, Any]) -> str:
    """Return JSON for a script element, escaped so that no name can close the element."""
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _policy(style: str, script: str) -> str:
    """Return a content security policy that allows only this style and this script."""
    hashes = (base64.b64encode(sha256(part.encode()).digest()).decode() for part in (style, script))
    style_hash, script_hash = hashes
    return (
        f"default-src 'none'; style-src 'sha256-{style_hash}'; script-src 'sha256-{script_hash}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _read_part(file: str) -> str:
    return (_FOLDER / file).read_text("utf-8")
