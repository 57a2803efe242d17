"""Make docs/examples: the matches of the auditor guide, and the picture of a report (by Chromium).

    python -m tests.service.audit.examples

The same code makes the same matches; only the key is new, and its secret half is not kept. After a
change of the contract or the rules, run this, then run the auditor guide again
(DURAK_TEST_WRITE_GUIDE=1 make test TESTS=tests/service/audit), and correct its sentences: the cards
and versions of the story can be others.
"""

import base64
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from domain.audit import audit
from domain.bots import choose_move
from domain.cards import RANK_OF, SUIT_OF, Card, cards_in
from domain.match.commands import OpenTable, Play, RevealSeed, TakeSeat
from domain.match.deal import secret_hash
from domain.match.fold import fold
from domain.match.moves import legal_moves
from domain.match.view import seats_in, table_view
from domain.transparency import checkpoint, merkle
from domain.transparency.checkpoint import Checkpoint, VerifierKey
from durak.v1.events_pb2 import OUTCOME_PLAYED_OUT, Record
from durak.v1.settings_pb2 import BotLevel, Deck, Settings, ThrowIn
from durak.v1.table_pb2 import PHASE_ENDED, ChallengeMove, Move
from durak.v1.transcript_pb2 import InclusionProof, Transcript
from service.report.page import render_report
from tests.browser import browsing
from tests.domain.audit.audit_matches import PlayedMatch, cheat
from tests.domain.audit.audit_transcripts import rechained, transcript_records, with_records

FOLDER: Final = Path(__file__).resolve().parents[3] / "docs" / "examples"
LOG_NAME: Final = "durak.example/log"
NAMES: Final = ("Anna", "Boris", "Vera")
ANNA, BORIS, VERA = range(3)
START_US: Final = 1_796_030_852_000_000  # 2026-11-30 09:27:32
SETTINGS: Final = Settings(
    deck=Deck.DECK_36,
    seats=3,
    throw_in=ThrowIn.THROW_IN_ALL,
    draw_allowed=True,
    tricky=True,
    stake_coins=100,
)
CHEATS, CHALLENGES = 0.03, 0.02  # of the moves
RECORDS_MAX = 130
PAYOUT_SEED, CHALLENGE_SEED = 3, 7306
"""The seeds of the matches in docs/examples."""


class Forgery(NamedTuple):
    """A record that Vera changed: another card of hers, that she could throw in."""

    version: int
    card: Card


def play(seed: int) -> PlayedMatch:
    """Return a match of three people who play like easy bots, cheat and challenge."""
    random = Random(seed)
    played = PlayedMatch(_match_id(random), now_us=START_US)
    secrets = [random.randbytes(32) for _ in NAMES]
    opening = OpenTable(
        SETTINGS,
        server_seed=random.randbytes(32),
        idle_limit_seconds=86_400,
        reveal_limit_seconds=30,
    )
    played.by_player(NAMES[ANNA], opening)
    for name, secret in zip(NAMES, secrets, strict=True):
        promise = secret_hash(played.match_id, name, secret)
        played.by_player(name, TakeSeat(name, None, promise))
    for name, secret in zip(NAMES, secrets, strict=True):
        played.by_player(name, RevealSeed(secret))
    while played.match.phase != PHASE_ENDED:
        played.now_us += random.randint(600_000, 4_000_000)
        seat = random.choice(seats_in(played.match.on_clock()))
        played.by_seat(seat, Play(_move(played, seat, random)))
    return played


def _match_id(random: Random) -> bytes:
    """Return 16 random bytes that are a UUID of version 8."""
    data = bytearray(random.randbytes(16))
    data[6] = data[6] & 0x0F | 0x80
    data[8] = data[8] & 0x3F | 0x80
    return bytes(data)


def _move(played: PlayedMatch, seat: int, random: Random) -> Move:
    match, chance = played.match, random.random()
    plays = list(legal_moves(match, seat).challenge)
    if plays and chance < CHALLENGES:
        return Move(challenge=ChallengeMove(play_version=random.choice(plays)))
    if chance > 1 - CHEATS:
        return cheat(match, seat, random)
    return choose_move(BotLevel.BOT_LEVEL_EASY, table_view(match, seat), [], random.getrandbits(64))


def payout_story(played: PlayedMatch) -> bool:
    """Boris wins, and Vera is second."""
    result = played.match.result
    return (
        result is not None
        and result.outcome == OUTCOME_PLAYED_OUT
        and [seat.place for seat in result.results] == [3, 1, 2]
        and len(played.records) < RECORDS_MAX
    )


def challenge_story(played: PlayedMatch) -> bool:
    """Anna challenges a trump that beats; Vera throws in a card that nobody challenges."""
    result = played.match.result
    if result is None or result.outcome != OUTCOME_PLAYED_OUT or len(played.records) > RECORDS_MAX:
        return False
    return (
        any(_anna_was_wrong(played))
        and forgery(played) is not None
        and any(cheat.caught_by for cheat in audit(played.stored).cheats)
    )


def _anna_was_wrong(played: PlayedMatch) -> Iterator[bool]:
    for record in played.records:
        challenged = record.event.challenged
        if record.event.HasField("challenged") and challenged.seat == ANNA:
            play = played.records[challenged.play_version - 1].event
            suits = SUIT_OF[play.defended.card], SUIT_OF[play.defended.attack_card]
            yield not challenged.upheld and play.HasField("defended") and suits[0] != suits[1]


def forgery(played: PlayedMatch) -> Forgery | None:
    """Return a card that Vera could have thrown in instead, and plays later in the same bout."""
    for found in audit(played.stored).cheats:
        event = played.records[found.version - 1].event
        if found.seat != VERA or found.caught_by or not event.HasField("attacked"):
            continue
        before = fold(played.records[: found.version - 1])
        ranks = {RANK_OF[card] for card in before.table_cards()}
        allowed = [card for card in cards_in(before.hands[VERA]) if RANK_OF[card] in ranks]
        for record in played.records[found.version :]:
            if record.event.HasField("took") or record.event.HasField("discarded"):
                break
            attacked = record.event.attacked
            if attacked.seat == VERA and attacked.card in allowed:
                return Forgery(found.version, attacked.card)
    return None


def find(story: Callable[[PlayedMatch], bool], seed: int) -> PlayedMatch:
    """Return the match of the first seed from `seed` on that has a story, and print that seed."""
    while not story(played := play(seed)):
        seed += 1
    sys.stdout.write(f"{story.__name__}: seed {seed}\n")
    return played


def prove(matches: list[PlayedMatch], secret: Ed25519PrivateKey) -> list[Transcript]:
    """Return transcripts of the matches, each proved in one signed checkpoint."""
    chains = [played.stored for played in matches]
    tree = merkle.Tree(
        merkle.leaf_hash(
            merkle.stream_leaf(merkle.MATCH_LEAF, played.match_id, len(chain), chain[-1][2])
        )
        for played, chain in zip(matches, chains, strict=True)
    )
    head = Checkpoint(LOG_NAME, tree.size, merkle.root(tree.size, tree.node))
    note = checkpoint.sign(head.text(), LOG_NAME, secret)
    return [
        Transcript(
            format_version=1,
            match_id=played.match_id,
            records=transcript_records(chain),
            ledger=played.ledger,
            inclusion=InclusionProof(
                leaf_index=index,
                tree_size=tree.size,
                hashes=merkle.inclusion_proof(index, tree.size, tree.node),
            ),
            checkpoint=note,
        )
        for index, (played, chain) in enumerate(zip(matches, chains, strict=True))
    ]


def forged(played: PlayedMatch, transcript: Transcript) -> Transcript:
    """Return the transcript with the changed record and a chain that fits it."""
    found = forgery(played)
    assert found is not None
    record = Record()
    record.CopyFrom(played.records[found.version - 1])
    record.event.attacked.card = found.card
    return with_records(transcript, rechained(played, found.version - 1, record))


def picture(played: PlayedMatch, transcript: Transcript, key: str) -> bytes:
    """Return the report of a match at its uncaught illegal play, proven by its page, as WebP."""
    found = forgery(played)
    assert found is not None
    with TemporaryDirectory() as name, browsing(Path(name)) as page:
        file = Path(name) / "report.html"
        file.write_text(render_report(transcript.SerializeToString(), key, "en"), "utf-8")
        page.open(file, f"#at={found.version}&key={key}", width=1200, height=820)
        while not page.run("!!document.querySelector('#proof.proven')"):
            time.sleep(0.1)
        shot = page.send("Page.captureScreenshot", format="webp", quality=80)
    return base64.b64decode(shot["data"])


def main() -> None:
    """Write the files."""
    matches = [find(payout_story, PAYOUT_SEED), find(challenge_story, CHALLENGE_SEED)]
    secret = Ed25519PrivateKey.generate()
    staked, tricky = prove(matches, secret)
    files = {"staked": staked, "tricky": tricky, "tricky-forged": forged(matches[1], tricky)}
    for name, transcript in files.items():
        data = transcript.SerializeToString(deterministic=True)
        (FOLDER / f"{name}.transcript").write_bytes(data)
    key = str(VerifierKey.of(LOG_NAME, secret))
    (FOLDER / "key").write_text(f"{key}\n", "utf-8")
    (FOLDER / "report.webp").write_bytes(picture(matches[1], tricky, key))


if __name__ == "__main__":
    main()
