"""A dispute with its evidence, line by line."""

from collections.abc import Sequence

from google.protobuf.text_format import MessageToString

from durak.v1 import dispute_service_pb2 as api
from durak.v1.events_pb2 import Event
from service.render.audit import challenge_line, coin_lines, finding_line, report_lines
from service.render.narration import Narrator
from service.render.table import open_table_lines, seat_names, table_lines
from service.render.texts import format_utc, printable
from service.text.localisation import Translate


def dispute_fields(dispute: api.Dispute) -> list[str]:
    """Return a dispute as the fields of a list entry."""
    complaint = dispute.complaint
    return [
        dispute.dispute_id,
        f"{status(dispute):18}",
        format_utc(dispute.open_time.ToMicroseconds()),
        f"{printable(dispute.opened_by)}: match {complaint.match_id}, {subject(complaint)}",
    ]


def status(dispute: api.Dispute) -> str:
    """Return the status of a dispute in words: ``correction pending``."""
    return _word(api.DisputeStatus.Name(dispute.status), "DISPUTE_STATUS_")


def subject(complaint: api.DisputeOpened) -> str:
    """Return the subject of a complaint: the payout, or a version."""
    is_payout = complaint.WhichOneof("about") == "payout"
    return "the payout" if is_payout else f"version {complaint.version}"


def dispute_lines(found: api.GetDisputeResponse, translate: Translate) -> list[str]:
    """Return a dispute: its status, its records, and the evidence if the service sent any."""
    dispute = found.dispute
    lines = [
        f"Dispute {dispute.dispute_id}: {status(dispute)}, version {dispute.version}",
        f"About match {dispute.complaint.match_id}, {subject(dispute.complaint)}",
        "",
        *map(_record_line, found.records),
    ]
    if found.evidence.dispute_changed:
        lines += ["", "THE RECORDS OF THIS DISPUTE ARE NOT THOSE THAT WERE SIGNED."]
    if found.HasField("evidence"):
        lines += _evidence_lines(found.evidence, dispute.complaint, translate)
    return lines


def _record_line(record: api.DisputeRecord) -> str:
    kind = record.event.WhichOneof("kind") or ""
    what = {"opened": _opened, "ruled": _ruled, "correction_decided": _decided}[kind]
    text, reason = what(record.event)
    who = printable(record.actor_id)
    time = format_utc(record.event_time.ToMicroseconds())
    return f"{record.version:>4}  {time}  {who} {text}: {printable(reason)}"


def _opened(event: api.DisputeEvent) -> tuple[str, str]:
    return f"complains of {subject(event.opened)}", event.opened.reason


def _ruled(event: api.DisputeEvent) -> tuple[str, str]:
    ruled = event.ruled
    text = f"rules: {_word(api.Ruling.Name(ruled.ruling), 'RULING_')}"
    moves = [f"{printable(one.player_id)} {one.coins:+d}" for one in ruled.corrections]
    return f"{text}, coins {', '.join(moves)}" if moves else text, ruled.reason


def _decided(event: api.DisputeEvent) -> tuple[str, str]:
    decided = event.correction_decided
    is_approved = decided.decision == api.CORRECTION_DECISION_APPROVED
    return "approves the correction" if is_approved else "declines the correction", decided.reason


def _corrected_lines(corrected: Sequence[api.Dispute]) -> list[str]:
    """Return the corrections that other disputes have made, with a heading if there is one."""
    lines = []
    for dispute in corrected:
        moves = [f"{printable(one.player_id)} {one.coins:+d}" for one in dispute.ruled.corrections]
        lines.append(f"  {dispute.dispute_id}: coins {', '.join(moves)}")
    return ["", "Corrected before", *lines] if lines else []


def _evidence_lines(
    evidence: api.DisputeEvidence, complaint: api.DisputeOpened, translate: Translate
) -> list[str]:
    lines = _corrected_lines(evidence.corrected)
    lines += ["", f"Before {subject(complaint)}"]
    if evidence.HasField("before"):
        lines += open_table_lines(evidence.before, translate)
    else:
        lines.append("  no table: the records before it do not make a match")
    lines += ["", "What happened", *_narration_lines(evidence, complaint, translate)]
    if evidence.HasField("after"):
        lines += ["", "After it", *table_lines(evidence.after.view, translate)]
    lines += ["", "Verdict", *_verdict_lines(evidence.verdict)]
    lines += [
        f"  {challenge_line(challenge)}"
        for challenge in evidence.report.verdicts
        if challenge.version == complaint.version
    ]
    lines += ["", "The whole match", *report_lines(evidence.report)]
    coins = coin_lines(evidence.ledger)
    return [*lines, "", "Coins", *(f"  {line}" for line in coins)] if coins else lines


def _narration_lines(
    evidence: api.DisputeEvidence, complaint: api.DisputeOpened, translate: Translate
) -> list[str]:
    """Return the disputed event and the later ones of its command.

    Records that do not make a match are shown as raw text or hex.
    """
    narrator = Narrator(translate)
    if evidence.HasField("before"):
        view = evidence.before.view
        narrator = Narrator.resume(view, seat_names(view.seats, translate), translate)
    last = evidence.records[-1].version
    first = complaint.version or last
    lines = []
    for stored in evidence.records:
        if stored.version < first:
            continue
        if not stored.HasField("record"):
            texts: Sequence[str] = [stored.stored.hex()]
        elif evidence.HasField("after"):
            texts = [line.text for line in narrator.describe(stored.record.event)]
        else:
            texts = [_raw_text(stored.record.event)]
        lines += [f"{stored.version:>5}  {line}" for line in texts]
    return lines


def _raw_text(event: Event) -> str:
    return printable(MessageToString(event, as_one_line=True))


def _verdict_lines(verdict: api.EventVerdict) -> list[str]:
    clauses = ", ".join(verdict.clauses)
    if verdict.illegal_play:
        head = f"illegal; stays unless somebody challenges it at this table ({clauses})"
    elif verdict.ok:
        head = f"legal ({clauses})"
    else:
        head = f"FAULTS ({clauses})"
    return [f"  {head}", *(f"  {finding_line(finding)}" for finding in verdict.findings)]


def _word(text: str, prefix: str) -> str:
    return text.removeprefix(prefix).lower().replace("_", " ")
