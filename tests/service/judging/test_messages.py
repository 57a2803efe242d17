"""Audit reports as messages of the contract."""

from __future__ import annotations

from domain.audit import Finding, Kind, Severity
from durak.v1 import audit_service_pb2 as api
from service.judging.messages import finding_message


def test_each_kind_of_finding_has_its_own_number_in_the_contract() -> None:
    findings = [Finding(kind, "R5.1", 7, 0, "one", "another") for kind in Kind]
    names = [api.FindingKind.Name(finding_message(finding).kind) for finding in findings]
    assert names == [f"FINDING_KIND_{kind.value.upper()}" for kind in Kind]
    assert set(names) == set(api.FindingKind.keys()) - {"FINDING_KIND_UNSPECIFIED"}


def test_a_finding_keeps_its_severity_and_place() -> None:
    note = finding_message(Finding(Kind.LATE_MOVE, "R10.2", 7, 0, "a", "b", Severity.NOTE))
    assert (note.severity, note.version, note.seat) == (api.FINDING_SEVERITY_NOTE, 7, 0)
    of_no_record = finding_message(Finding(Kind.OPENING, "contract: Event", 0, None, "a", "b"))
    assert of_no_record.severity == api.FINDING_SEVERITY_FAULT
    assert not of_no_record.HasField("version")
    assert not of_no_record.HasField("seat")
