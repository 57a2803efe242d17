"""`durak practice --mine`: find puzzles in finished matches and write them to a file."""

import asyncio
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import click
from google.protobuf.message import DecodeError
from rich.console import Console
from rich.progress import track

from domain.bots import BOTS, move_seed
from domain.bots.arena import BotMatch
from domain.endgame import EndgameMove, legal_moves
from domain.endgame.conversion import to_move_message
from domain.match.fold import CorruptLogError
from domain.match.view import table_view
from domain.practice import PLAYER, Miner, PuzzleMatch, format_puzzles
from durak.v1.events_pb2 import Record
from durak.v1.settings_pb2 import BotLevel, Deck, Settings, ThrowIn
from durak.v1.transcript_pb2 import Transcript
from eventstore import StoredRecord, first_hash
from service.cli.database import open_store
from service.cli.exits import CommandError
from service.cli.output_file import write_output
from service.config import Config
from service.practice.puzzles import read_puzzles
from service.stored_records import read_records

_BOTS: Final = "bots"
_DATABASE: Final = "database"
# Bots that miss moves: the hard bot solves endings.
_EASY: Final = BOTS[BotLevel.BOT_LEVEL_EASY]
_NORMAL: Final = BOTS[BotLevel.BOT_LEVEL_NORMAL]
_PAIRS: Final = ((_NORMAL, _NORMAL), (_EASY, _NORMAL), (_NORMAL, _EASY), (_EASY, _EASY))
_MATCH_ID: Final = bytes(16)

MINING: Final = (
    click.option(
        "--mine", is_flag=True, help="Find puzzles in finished matches and write them to a file."
    ),
    click.option(
        "--source",
        "sources",
        metavar="bots|database|FILE",
        multiple=True,
        default=(_BOTS,),
        show_default=True,
        help="Matches to mine: of bots that play here, of the service's database, or an exported "
        "transcript. Can be repeated.",
    ),
    click.option(
        "--matches",
        metavar="N",
        type=click.IntRange(1),
        default=500,
        show_default=True,
        help="Number of matches that the bots play.",
    ),
    click.option(
        "--count",
        metavar="N",
        type=click.IntRange(1),
        default=100,
        show_default=True,
        help="Maximum number of puzzles.",
    ),
    click.option(
        "--seed",
        metavar="N",
        type=click.IntRange(0, 2**63),
        default=1,
        show_default=True,
        help="Seed of the deals, and of the choice among the puzzles found.",
    ),
    click.option(
        "-o",
        "--output",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        help="File to write, for DURAK_PRACTICE_PUZZLES.  [default: standard output]",
    ),
)
"""The options of `durak practice --mine`."""
MINING_NAMES: Final = frozenset({"sources", "matches", "count", "seed", "output"})
"""The names of those that need --mine."""


def mine(config: Config, given: Mapping[str, Any]) -> None:
    """Write the puzzles that the options ask for. Raises CommandError if it finds nothing."""
    miner = Miner(_advice, read_puzzles())
    for source in given["sources"]:
        if source == _BOTS:
            _add_bots(miner, given["matches"], given["seed"])
        elif source == _DATABASE:
            asyncio.run(_add_database(miner, config))
        else:
            _add_transcript(miner, Path(source))
    puzzles = miner.choose(given["count"], given["seed"])
    if not puzzles:
        raise CommandError(f"no puzzles in {miner.matches} finished matches of two seats")
    write_output(given["output"], format_puzzles(puzzles).encode())
    click.echo(f"{len(puzzles)} puzzles from {miner.matches} matches", err=True)


def _advice(started: PuzzleMatch) -> list[EndgameMove]:
    """Return the moves that the easy and the normal bot would play."""
    view = table_view(started.match, PLAYER)
    by_message = {str(to_move_message(move)): move for move in legal_moves(started.position)}
    return [by_message[str(bot.choose_move(view, (), 0))] for bot in (_EASY, _NORMAL)]


def _add_bots(miner: Miner, matches: int, seed: int) -> None:
    played = _bot_matches(matches, seed)
    screen = Console(stderr=True)
    for records in track(played, "matches of bots", total=matches, console=screen):
        miner.add(records)


def _bot_matches(matches: int, seed: int) -> Iterator[list[Record]]:
    """Yield the records of matches that bots play here, every other one with transfers."""
    for number in range(matches):
        table = Settings(
            deck=Deck.DECK_36,
            seats=2,
            throw_in=ThrowIn.THROW_IN_ALL,
            transfer=bool(number % 2),
            draw_allowed=True,
        )
        server_seed = sha256(b"durak.mine" + seed.to_bytes(8) + number.to_bytes(8)).digest()
        bot_seeds = [move_seed(int.from_bytes(server_seed[:8]), seat) for seat in range(2)]
        players = _PAIRS[number // 2 % len(_PAIRS)]
        played = BotMatch(table, players, server_seed, bot_seeds)
        played.play()
        yield [
            Record(match_id=_MATCH_ID, version=version, event=event)
            for version, event in enumerate(played.events, 1)
        ]


async def _add_database(miner: Miner, config: Config) -> None:
    """Take all matches of the service's database. Corrupt ones are named and left out."""
    async with open_store(config) as store:
        async for match_id, stored in store.read_all():
            try:
                miner.add(read_records(stored, first_hash(match_id)))
            except CorruptLogError:
                click.echo(f"durak: match {match_id} is corrupt and was left out", err=True)


def _add_transcript(miner: Miner, path: Path) -> None:
    """Take an exported match. Raises CommandError."""
    try:
        transcript = Transcript.FromString(path.read_bytes())
        stored = [
            StoredRecord(version, it.record, it.hash)
            for version, it in enumerate(transcript.records, 1)
        ]
        miner.add(read_records(stored, first_hash(UUID(bytes=transcript.match_id))))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error
    except (DecodeError, ValueError, CorruptLogError) as error:
        raise CommandError(f"{path} is not a transcript of a match: {error}") from error
