"""PracticeService: puzzles about the end of a match. It needs no token and stores nothing."""

from collections.abc import Iterable
from itertools import chain
from types import MappingProxyType
from typing import Final

from domain.cards import cards_in
from domain.endgame import Value, legal_moves
from domain.endgame.conversion import to_move_message
from domain.match.refusal import FieldFault, Refusal
from domain.match.view import table_view
from domain.practice import OPPONENT, PLAYER, Puzzle, PuzzleMatch, find_choice
from durak.v1 import errors_pb2 as reasons
from durak.v1 import practice_service_pb2 as api
from durak.v1 import practice_service_pb2_grpc as api_grpc
from durak.v1.events_pb2 import Record
from durak.v1.match_service_pb2 import MatchEvent
from durak.v1.table_pb2 import EndgameResult
from service.practice import requests
from service.practice.puzzles import Puzzles
from service.practice.texts import PracticeTexts
from service.rpc.call import Context, answer_language
from service.rpc.errors import Refused, refuse
from service.rpc.page_tokens import token_invalid

_RESULTS: Final = MappingProxyType(
    {
        Value.LOSS: EndgameResult.ENDGAME_RESULT_LOSS,
        Value.DRAW: EndgameResult.ENDGAME_RESULT_DRAW,
        Value.WIN: EndgameResult.ENDGAME_RESULT_WIN,
    }
)


class PracticeService(api_grpc.PracticeServiceServicer):
    """The servicer. The interceptor turns its exceptions into a status."""

    def __init__(self, puzzles: Puzzles, texts: PracticeTexts) -> None:
        """Serve these puzzles."""
        self._puzzles = puzzles
        self._texts = texts

    async def ListPuzzles(
        self, request: api.ListPuzzlesRequest, context: Context
    ) -> api.ListPuzzlesResponse:
        """Return a page of puzzles. Its token is the id of the last puzzle of the previous page."""
        size = requests.list_puzzles(request)
        language = answer_language(request.language)
        known = list(self._puzzles.by_id.values())
        first = 0
        if request.page_token:
            if request.page_token not in self._puzzles.by_id:
                raise token_invalid()
            first = 1 + known.index(self._puzzles.by_id[request.page_token])
        after = first + size
        page = known[first:after]
        return api.ListPuzzlesResponse(
            puzzles=[self._summary(puzzle, language) for puzzle in page],
            next_page_token=page[-1].id if page and after < len(known) else "",
            language=language,
        )

    async def GetPuzzle(
        self, request: api.GetPuzzleRequest, context: Context
    ) -> api.GetPuzzleResponse:
        """Return one puzzle."""
        requests.get_puzzle(request)
        language = answer_language(request.language)
        puzzle, started = self._find(request.puzzle_id)
        view = table_view(started.match, PLAYER)
        view.ClearField("last_event_time")
        view.ClearField("deadline_time")
        return api.GetPuzzleResponse(
            puzzle=api.Puzzle(
                summary=self._summary(puzzle, language),
                situation=self._texts.situation(puzzle, started, language),
                question=self._texts.of_puzzle(puzzle, started, "question", language),
                view=view,
                opponent_hand=cards_in(puzzle.hands[OPPONENT]),
                open_hand_note=self._texts.open_hand(language),
                choices=self._choices(started, language),
                language=language,
            )
        )

    async def TryMove(self, request: api.TryMoveRequest, context: Context) -> api.TryMoveResponse:
        """Judge a choice, and play the puzzle out."""
        requests.try_move(request)
        language = answer_language(request.language)
        puzzle, started = self._find(request.puzzle_id)
        choice = find_choice(started, request.move if request.HasField("move") else None)
        if isinstance(choice, Refusal):
            raise Refused(choice)
        if choice is None:
            fault = FieldFault("wait", "is not among the choices")
            raise refuse(reasons.ERROR_REASON_MALFORMED_FIELD, fault)
        made = await self._puzzles.attempt(puzzle, choice)
        steps = self._steps(chain(made.steps, made.continuation), started, language)
        explained = "right" if made.right else "wrong"
        is_over = not made.continuation
        return api.TryMoveResponse(
            right=made.right,
            result=_RESULTS[made.value],
            best_result=_RESULTS[made.best],
            steps=steps[: len(made.steps)],
            view=made.view,
            opponent_hand=cards_in(made.opponent_hand),
            continuation=steps[len(made.steps) :],
            result_text=self._texts.outcome(made.value, language, is_over=is_over),
            explanation=self._texts.of_puzzle(puzzle, started, explained, language),
            language=language,
        )

    def _find(self, puzzle_id: str) -> tuple[Puzzle, PuzzleMatch]:
        puzzle = self._puzzles.by_id.get(puzzle_id)
        if puzzle is None:
            raise refuse(reasons.ERROR_REASON_PUZZLE_NOT_FOUND, puzzle_id=puzzle_id)
        return puzzle, self._puzzles.started[puzzle_id]

    def _summary(self, puzzle: Puzzle, language: str) -> api.PuzzleSummary:
        started = self._puzzles.started[puzzle.id]
        match = started.match
        role = api.PUZZLE_ROLE_THROWER if match.attacks else api.PUZZLE_ROLE_ATTACKER
        if match.defender == PLAYER:
            role = api.PUZZLE_ROLE_DEFENDER
        return api.PuzzleSummary(
            puzzle_id=puzzle.id,
            title=self._texts.of_puzzle(puzzle, started, "title", language),
            difficulty=puzzle.difficulty,
            role=role,
            transfer=puzzle.transfer,
        )

    def _choices(self, started: PuzzleMatch, language: str) -> list[api.PuzzleChoice]:
        is_lead = not started.match.attacks
        choices = []
        for move in legal_moves(started.position):
            text = self._texts.choice(move, language, is_lead=is_lead)
            wanted = to_move_message(move)
            if wanted is None:
                choices.append(api.PuzzleChoice(wait=api.WaitChoice(), text=text))
            else:
                choices.append(api.PuzzleChoice(move=wanted, text=text))
        return choices

    def _steps(
        self, records: Iterable[Record], started: PuzzleMatch, language: str
    ) -> list[api.PuzzleStep]:
        """Return the events with a sentence for each."""
        steps = []
        is_table_empty = not started.match.attacks
        for record in records:
            text = self._texts.step(record.event, language, is_lead=is_table_empty)
            event = MatchEvent(version=record.version, event=record.event)
            steps.append(api.PuzzleStep(event=event, text=text))
            is_table_empty = record.event.WhichOneof("kind") in ("took", "discarded")
        return steps
