"""Check the fields of PracticeService's requests. See `service.rpc.validation`."""

from durak.v1 import practice_service_pb2 as api
from service.rpc.validation import Faults, check_language, check_move

PUZZLE_ID_CHARS_MAX = 64


def list_puzzles(request: api.ListPuzzlesRequest) -> int:
    """Check the fields; return the size of the page."""
    faults = Faults()
    check_language(faults, request.language)
    size = faults.page(request)
    faults.check()
    return size


def get_puzzle(request: api.GetPuzzleRequest) -> None:
    """Check `puzzle_id` and `language`."""
    faults = Faults()
    check_language(faults, request.language)
    _puzzle_id(faults, request.puzzle_id)
    faults.check()


def try_move(request: api.TryMoveRequest) -> None:
    """Check `puzzle_id` and `language`, and that the choice is complete and its cards exist."""
    faults = Faults()
    check_language(faults, request.language)
    _puzzle_id(faults, request.puzzle_id)
    match request.WhichOneof("choice"):
        case "move":
            check_move(faults, request.move)
        case None:
            faults.add("choice", "is required: a move, or to wait")
    faults.check()


def _puzzle_id(faults: Faults, puzzle_id: str) -> None:
    if puzzle_id:
        faults.length("puzzle_id", puzzle_id, PUZZLE_ID_CHARS_MAX)
    else:
        faults.add("puzzle_id", "is required")
