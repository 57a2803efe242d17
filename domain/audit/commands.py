"""Judges commands: one request, one actor and one time for all events of a command."""

from domain.audit.findings import Kind, Notebook
from domain.audit.records import RECORD_CLAUSE, Command, Entry


class Commands:
    """Judges the commands of one match in order.

    A command's first event is its initiating event; the events that follow from it carry the same
    actor, request id and time.
    """

    def __init__(self, opening: Command, notes: Notebook) -> None:
        self._notes = notes
        self._command = opening
        self._requests = {(opening.actor_id, opening.request_id)}
        """Each player chooses request ids for themselves."""
        self._is_opening = True
        """Until the first command after the one that opened the table."""

    def judge_initiating(self, entry: Entry) -> None:
        """Judge the first event of a command. Its player uses a request id once."""
        command = entry.command
        if command.request_id:
            request = command.actor_id, command.request_id
            # A rematch opens the table and seats its bots and its caller in one command.
            opens_too = entry.kind == "seat_taken" and self._is_opening and command == self._command
            if request in self._requests and not opens_too:
                request_id = command.request_id.hex()
                self._notes.fault(Kind.REQUEST, RECORD_CLAUSE, "a new request", request_id)
            self._requests.add(request)
            if command != self._command:
                self._is_opening = False
        self._command = command

    def judge_following(self, command: Command) -> None:
        """Judge an event that follows from the initiating one."""
        before, fault = self._command, self._notes.fault
        if command == before:
            return
        if command[:2] != before[:2]:
            fault(Kind.ACTOR, RECORD_CLAUSE, before[:2], command[:2])
        if command.request_id != before.request_id:
            ids = before.request_id.hex(), command.request_id.hex()
            fault(Kind.REQUEST, RECORD_CLAUSE, *ids)
        if command.time_us != before.time_us:
            times = f"{before.time_us} µs", f"{command.time_us} µs"
            fault(Kind.TIME, RECORD_CLAUSE, *times)
