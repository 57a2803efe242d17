"""Honest matches for the audit: played at random by the game, with their records and coins.

`random_match(seed)` draws settings, seats, bots, cheats, challenges, timeouts and leavers.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random

from domain.audit import Stored
from domain.cards import cards_in
from domain.match.commands import (
    CLOCK,
    Actor,
    CancelTable,
    Command,
    Leave,
    OpenTable,
    Play,
    Rematch,
    RemovePlayer,
    RevealSeed,
    SeatBot,
    TakeSeat,
    TimeOut,
    by_bot,
    by_player,
)
from domain.match.deal import secret_hash
from domain.match.decide import decide
from domain.match.fold import Match
from domain.match.moves import legal_moves
from domain.match.refusal import Refusal
from domain.match.view import timestamp
from durak.v1.events_pb2 import (
    ACTOR_KIND_PLAYER,
    Event,
    Record,
)
from durak.v1.settings_pb2 import BotLevel, Settings
from durak.v1.table_pb2 import (
    PHASE_ENDED,
    PHASE_REVEALING,
    PHASE_WAITING,
    AttackMove,
    ChallengeMove,
    DefendMove,
    Move,
    TakeMove,
    TransferMove,
)
from durak.v1.transcript_pb2 import (
    LEDGER_ENTRY_KIND_PAYOUT,
    LEDGER_ENTRY_KIND_REFUND,
    LEDGER_ENTRY_KIND_STAKE,
    LedgerEntry,
    LedgerEntryKind,
)
from eventstore.log.chain import first_hash, next_hash

START_US = 1_790_000_000_000_000
OWNER = "player-0"
EVENTS_MAX = 4_000
PASS = Move()
getattr(PASS, "pass").SetInParent()
IDLE_LIMIT_SECONDS = 86_400
REVEAL_LIMIT_SECONDS = 30


@dataclass
class PlayedMatch:
    """The records of a match as stored, and the state that they fold to."""

    match_id: bytes
    records: list[Record] = field(default_factory=list)
    now_us: int = START_US
    secrets: dict[str, bytes] = field(default_factory=dict)
    match: Match = field(init=False)

    def __post_init__(self) -> None:
        self.match = Match(self.match_id)

    def store(self, actor: Actor, events: Sequence[Event]) -> None:
        """Store the events of one command."""
        command = len(self.records).to_bytes(16, "big")
        for event in events:
            record = Record(
                match_id=self.match_id,
                version=self.match.version + 1,
                event_time=timestamp(self.now_us),
                actor_kind=actor.kind,
                actor_id=actor.player_id,
                request_id=command if actor.kind == ACTOR_KIND_PLAYER else b"",
                trace_id=command[::-1],
                event=event,
            )
            self.match.apply(record)
            self.records.append(record)

    def perform(self, actor: Actor, command: Command) -> bool:
        """Store what a command makes; whether it made anything and was not refused."""
        outcome = decide(self.match, actor, command)
        if isinstance(outcome, Refusal):
            return False
        self.store(actor, outcome.events)
        return bool(outcome.events)

    def by_player(self, player_id: str, command: Command) -> bool:
        """Store what a player's command makes, unless it is refused."""
        return self.perform(by_player(player_id), command)

    def by_clock(self) -> bool:
        """Let the clock act for one seat; whether anything was due."""
        return self.perform(CLOCK, TimeOut(self.now_us))

    def by_seat(self, number: int, command: Command) -> bool:
        """Store what a command of a seat makes, unless it is refused."""
        seat = self.match.table.seats[number]
        assert seat is not None
        return self.perform(by_bot(number) if seat.is_bot else by_player(seat.player_id), command)

    @property
    def stored(self) -> list[Stored]:
        return stored(self.match_id, [record.SerializeToString() for record in self.records])

    @property
    def ledger(self) -> list[LedgerEntry]:
        return ledger_of(self.match_id, self.records)


def stored(match_id: bytes, datas: Sequence[bytes]) -> list[Stored]:
    """Return records with their versions and the hashes of an unbroken chain."""
    link = first_hash(uuid.UUID(bytes=match_id))
    chain = []
    for version, data in enumerate(datas, start=1):
        link = next_hash(link, data)
        chain.append((version, data, link))
    return chain


def ledger_of(match_id: bytes, records: Sequence[Record]) -> list[LedgerEntry]:
    """Return the ledger entries that these events demand."""
    stake = records[0].event.table_opened.settings.stake_coins
    entries: list[LedgerEntry] = []
    players: dict[int, str] = {}

    def transfer(
        at: int, kind: LedgerEntryKind.ValueType, player_id: str, coins: int, ordinal: int = 0
    ) -> None:
        record, last = records[at], at
        while last + 1 < len(records) and _command(records[last + 1]) == _command(record):
            last += 1  # the store knows a transfer by the last event of its command
        place = (last + 1).to_bytes(4, "big") + ordinal.to_bytes(4, "big")
        transfer_id = sha256(b"durak.v1.transfer" + match_id + place).digest()[:16]
        for whose, change in ((player_id, coins), ("", -coins)):
            entry = LedgerEntry(
                transfer_id=transfer_id,
                kind=kind,
                match_id=match_id,
                version=record.version,
                player_id=whose,
                coins=change,
                event_time=record.event_time,
            )
            entries.append(entry)

    for at, record in enumerate(records if stake else ()):
        event = record.event
        if event.HasField("seat_taken"):
            players[event.seat_taken.seat] = event.seat_taken.player_id
            transfer(at, LEDGER_ENTRY_KIND_STAKE, event.seat_taken.player_id, -stake)
        elif event.HasField("seat_vacated"):
            transfer(at, LEDGER_ENTRY_KIND_REFUND, players.pop(event.seat_vacated.seat), stake)
        elif event.HasField("finished"):
            shares = {it.seat: it.share_coins for it in event.finished.results if it.share_coins}
            ordinal = 0
            if shares == dict.fromkeys(players, stake):
                shares = dict.fromkeys(players, stake)  # back in the order of the stakes
            else:
                ordinal = len(players)  # the stakes that go to the bank come first
            for seat, share in shares.items():
                transfer(at, LEDGER_ENTRY_KIND_PAYOUT, players[seat], share, ordinal)
                ordinal += 1
    return entries


def _command(record: Record) -> object:
    """Return what all events of a player's command share; each other event is alone."""
    return (record.actor_id, record.request_id) if record.request_id else record.version


# --- random matches -----------------------------------------------------------------------------


def random_settings(random: Random, **wanted: int) -> Settings:
    """Return random settings that can be dealt."""
    deck = random.choice((24, 36, 52))
    plain = {
        "deck": deck,
        "seats": random.randint(2, 4 if deck == 24 else 6),
        "throw_in": random.choice((1, 2)),
        "transfer": random.random() < 0.5,
        "draw_allowed": random.random() < 0.5,
        "five_card_opening": random.random() < 0.5,
        "tricky": random.random() < 0.5,
        "turn_timer_seconds": random.choice((0, 15, 30)),
        "stake_coins": random.choice((0, 1, 7, 100, 12_345)),
    }
    return Settings(**{**plain, **wanted})  # type: ignore[arg-type] # drawn by field


def random_match(seed: int, **wanted: int) -> PlayedMatch:
    """Return a whole match. The same seed and settings give the same match."""
    random = Random(seed)
    played = PlayedMatch(random.randbytes(16))
    opening = OpenTable(
        random_settings(random, **wanted),
        start_series=random.random() < 0.3,
        server_seed=random.randbytes(32),
        idle_limit_seconds=IDLE_LIMIT_SECONDS,
        reveal_limit_seconds=REVEAL_LIMIT_SECONDS,
    )
    played.by_player(OWNER, opening)
    play_on(played, random)
    return played


def random_rematch(old: PlayedMatch, seed: int) -> PlayedMatch:
    """Return a whole rematch, requested by a random player."""
    random = Random(seed)
    played = opened_again(old, random)
    play_on(played, random)
    return played


def opened_again(old: PlayedMatch, random: Random) -> PlayedMatch:
    """Return a rematch that waits for its players, opened by one of them."""
    played = PlayedMatch(random.randbytes(16), now_us=old.now_us)
    players = [seat for seat in old.match.table.seats if seat is not None and not seat.is_bot]
    caller_id = random.choice(players).player_id
    secret = played.secrets[caller_id] = _secret(random)
    rematch = Rematch(
        old.match,
        "Name",
        _promise(played, caller_id, secret),
        random.randbytes(32),
        IDLE_LIMIT_SECONDS,
        REVEAL_LIMIT_SECONDS,
    )
    played.by_player(caller_id, rematch)
    return played


def play_on(played: PlayedMatch, random: Random) -> None:
    """Fill the table and play until the match has ended."""
    wildness = random.choice((0.0, 0.02, 0.2))
    meekness = random.choice((0.0, 0.1, 0.3, 0.97))
    match = played.match
    while match.phase != PHASE_ENDED:
        played.now_us += random.choice((0, 1, 400_000, 3_000_000))
        if match.phase == PHASE_WAITING:
            _sit_down(played, random)
        elif match.phase == PHASE_REVEALING:
            _reveal(played, random)
        elif random.random() < 0.3 * wildness:
            _let_time_pass(played, random)
        elif random.random() < 0.02 * wildness or len(played.records) > EVENTS_MAX:
            seats = [s for s in range(len(match.hands)) if not _is_bot(played, s)]
            _leave(played, random.choice(seats))
        else:
            _move(played, random, wildness, meekness)


def _leave(played: PlayedMatch, seat: int) -> None:
    played.by_seat(seat, Leave())


def _is_bot(played: PlayedMatch, number: int) -> bool:
    seat = played.match.table.seats[number]
    return seat is not None and seat.is_bot


def _sit_down(played: PlayedMatch, random: Random) -> None:
    match = played.match
    table = match.table
    sitting = [n for n, seat in enumerate(table.seats) if seat is not None and not seat.is_bot]
    chance = random.random()
    if chance < 0.05 and sitting:
        _leave(played, random.choice(sitting))
    elif chance < 0.06:
        closer_id = random.choice(
            [player for player in table.reserved_for if player] or [table.owner_id]
        )
        played.by_player(closer_id, CancelTable())
    elif chance < 0.065:
        played.now_us = match.opened_us + IDLE_LIMIT_SECONDS * 1_000_000 + 1
        played.by_clock()
    elif chance < 0.085 and sitting:
        seat = table.seats[random.choice(sitting)]
        assert seat is not None
        played.by_player(table.owner_id, RemovePlayer(seat.player_id))
    elif chance < 0.3 and not table.settings.stake_coins:
        level = random.choice(BotLevel.values()[1:])
        people = sum(1 for seat in table.seats if seat is None) + len(sitting)
        if people > 1:
            played.by_player(table.owner_id, SeatBot(level))
    else:
        player_id = f"player-{random.randrange(8)}"
        secret = _secret(random)
        promise = _promise(played, player_id, secret)
        if played.by_player(player_id, TakeSeat("Name", None, promise)):
            played.secrets[player_id] = secret


def _secret(random: Random) -> bytes:
    """A new secret, or none."""
    return b"" if random.random() < 0.4 else random.randbytes(32)


def _promise(played: PlayedMatch, player_id: str, secret: bytes) -> bytes:
    return secret_hash(played.match_id, player_id, secret) if secret else b""


def _reveal(played: PlayedMatch, random: Random) -> None:
    """Reveal a secret. Seldom one that is wrong, too late, or by a player who leaves."""
    match, chance = played.match, random.random()
    player_id = _player_on(played, random.choice(match.table.to_reveal))
    if chance < 0.02:
        _leave(
            played,
            random.choice([s for s in range(len(match.table.seats)) if not _is_bot(played, s)]),
        )
    elif chance < 0.05:
        deadline_us = match.deadline_us()
        assert deadline_us is not None
        played.now_us = deadline_us
        assert played.by_clock()
    elif chance < 0.1:
        assert not played.by_player(player_id, RevealSeed(random.randbytes(32)))
    else:
        assert played.by_player(player_id, RevealSeed(played.secrets[player_id]))


def _player_on(played: PlayedMatch, number: int) -> str:
    seat = played.match.table.seats[number]
    assert seat is not None
    return seat.player_id


def _let_time_pass(played: PlayedMatch, random: Random) -> None:
    for _ in range(random.randint(1, 4)):
        deadline_us = played.match.deadline_us()
        if deadline_us is None:
            break
        played.now_us = max(played.now_us, deadline_us + random.choice((-1, 0, 1, 1_000_000)))
        if not played.by_clock():
            break


def _move(played: PlayedMatch, random: Random, wildness: float, meekness: float) -> None:
    match = played.match
    tricky = match.table.tricky
    seats = [s for s in range(len(match.hands)) if match.in_play >> s & 1]
    random.shuffle(seats)
    on_clock = match.on_clock()
    if random.random() < 0.7:
        seats.sort(key=lambda s: not on_clock >> s & 1)
    for seat in seats:
        moves = _options(match, seat, random, meekness)
        if tricky and random.random() < wildness:
            moves = [cheat(match, seat, random)]
        if tricky and random.random() < 0.1 * wildness:
            versions = list(legal_moves(match, seat).challenge)
            moves = [Move(challenge=ChallengeMove(play_version=v)) for v in versions] or moves
        if moves and played.by_seat(seat, Play(random.choice(moves))):
            return


def _options(match: Match, seat: int, random: Random, meekness: float) -> list[Move]:
    legal = legal_moves(match, seat)
    cards = [Move(attack=AttackMove(card=card)) for card in legal.attack]
    for option in legal.defend:
        target = option.attack_card
        cards += [Move(defend=DefendMove(attack_card=target, card=card)) for card in option.cards]
    cards += [Move(transfer=TransferMove(card=card)) for card in legal.transfer]
    give_up = []
    if legal.can_take:
        give_up.append(Move(take=TakeMove()))
    if legal.can_pass:
        give_up.append(PASS)
    return give_up if not cards or (give_up and random.random() < meekness) else cards


def cheat(match: Match, seat: int, random: Random) -> Move:
    """Return a play of a card in hand that can be illegal."""
    hand = list(cards_in(match.hands[seat]))
    if not hand:
        return PASS
    card = random.choice(hand)
    unbeaten = [attack for attack in match.attacks if attack not in match.beaten_by]
    choices: list[Callable[[], Move]] = [lambda: Move(attack=AttackMove(card=card))]
    if unbeaten:
        choices += [
            lambda: Move(defend=DefendMove(attack_card=random.choice(unbeaten), card=card)),
            lambda: Move(transfer=TransferMove(card=card)),
        ]
    return random.choice(choices)()
