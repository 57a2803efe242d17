"""A small second verifier of transcripts: it checks the hash chain, the shuffle and the proof.

    python3 docs/verify_example.py FILE

It needs only Python, without any package, not even protobuf. It is an example for authors of
verifiers (docs/transcript-format.md). The tests run it on exports of the service. It does not judge
moves, and it does not check the signature of the checkpoint, which needs a library for Ed25519.
"""

import base64
import hashlib
import hmac
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Fields = dict[int, list[Any]]


def fields(data: bytes) -> Fields:
    """Return the fields of a protobuf message: number -> values in order (numbers or bytes)."""
    found: Fields = {}
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    while at < len(data):
        tag = varint()
        value: int | bytes = varint()
        if tag & 7 == 2:
            length = int(value)
            value, at = data[at : at + length], at + length
            if at > len(data):
                raise ValueError("the file is cut short")
        elif tag & 7 != 0:
            raise ValueError(f"wire type {tag & 7} is not used in transcripts")
        found.setdefault(tag >> 3, []).append(value)
    return found


def cards(values: list[bytes]) -> list[int]:
    """Decode a packed list of cards. Each card is below 128, so it takes one byte."""
    return list(values[0]) if values else []


def sha256(data: bytes) -> bytes:
    """Return the SHA-256 of the data."""
    return hashlib.sha256(data).digest()


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


def check(claim: str, *, holds: bool) -> None:
    """Print whether a claim is true. Exit if it is false."""
    say(f"{'ok  ' if holds else 'FALSE'} {claim}")
    if not holds:
        sys.exit(1)


def stream(key: bytes) -> Callable[[int], int]:
    """Return a function that draws the next number in 0 ... m - 1 from the stream of a deal key."""

    def words() -> Iterator[int]:
        block = 0
        while True:
            digest = hmac.new(key, block.to_bytes(8, "big"), "sha256").digest()
            for at in range(0, 32, 4):
                yield int.from_bytes(digest[at : at + 4], "big")
            block += 1

    drawn = words()
    return lambda m: next(word for word in drawn if word < 2**32 - 2**32 % m) % m


Seats = dict[int, tuple[bytes, bytes]]
"""By seat: the player's id, and the hash of the secret that the player promised, or nothing."""


def check_chain(
    match_id: bytes, records: list[bytes]
) -> tuple[bytes, dict[int, Fields], Seats, dict[int, bytes]]:
    """Check the chain. Return its last hash, the last event of each kind, seats and secrets."""
    link = sha256(b"durak.v1.match" + match_id)
    events: dict[int, Fields] = {}
    seats: Seats = {}
    secrets: dict[int, bytes] = {}
    for version, item in enumerate(map(fields, records), start=1):
        link = sha256(link + item[1][0])
        if link != item[2][0]:
            check(f"the hash chain is valid at version {version}", holds=False)
        record = fields(item[1][0])
        if record[1][0] != match_id or record[2][0] != version:
            check(f"record {version} has the right match and version", holds=False)
        ((kind, bodies),) = fields(record[8][0]).items()
        body = events[kind] = fields(bodies[0])
        seat = body.get(1, [0])[0]
        if kind == 2:  # seat_taken
            seats[seat] = body.get(2, [b""])[0], body.get(4, [b""])[0]
        if kind == 3:  # seat_vacated
            del seats[seat]
        if kind == 18:  # seed_revealed
            secrets[seat] = body[2][0]
    check(f"the hash chain is valid over {len(records)} records", holds=True)
    return link, events, seats, secrets


def check_promises(match_id: bytes, seats: Seats, secrets: dict[int, bytes]) -> None:
    """Check that each seat revealed the secret that it promised, and no other seat did."""
    promised = {seat for seat, (_, promise) in seats.items() if promise}
    check("every promised secret is revealed", holds=promised == set(secrets))
    for seat, secret in secrets.items():
        player_id, promise = seats[seat]
        message = b"durak.v1.seed" + match_id + bytes([len(player_id)]) + player_id + secret
        if sha256(message) != promise:
            check("each secret has the hash that its seat promised", holds=False)
    check("each secret has the hash that its seat promised", holds=True)


def check_deal(
    match_id: bytes, settings: Fields, dealt: Fields, server_seed: bytes, secrets: dict[int, bytes]
) -> None:
    """Repeat the shuffle and compare it with the deal."""
    size, seats = settings[1][0], settings[2][0]
    message = b"durak.v1.deal2" + match_id
    for seat in range(seats):
        secret = secrets.get(seat, b"")
        message += bytes([len(secret)]) + secret
    below = stream(hmac.new(server_seed, message, "sha256").digest())
    deck = [card for card in range(1, 53) if 2 + (card - 1) % 13 >= 15 - size // 4]
    for i in range(size - 1, 0, -1):
        j = below(i + 1)
        deck[i], deck[j] = deck[j], deck[i]
    hands = [deck[seat : 6 * seats : seats] for seat in range(seats)]
    found = [cards(fields(hand)[2]) for hand in dealt[1]]
    check("the hands follow from the shuffle", holds=found == hands)
    rest = deck[6 * seats :]
    trump = rest[0] if rest else deck[-1]
    check("the trump card follows from the shuffle", holds=dealt[2] == [trump])
    stock = cards(dealt.get(3, []))
    check("the stock follows from the shuffle", holds=stock == rest[1:] + rest[:1])
    trumps = [
        (card, seat)
        for seat, hand in enumerate(hands)
        for card in hand
        if (card - 1) // 13 == (trump - 1) // 13
    ]
    first = min(trumps)[1] if trumps else below(seats)
    check("the right seat leads the first bout", holds=dealt.get(4, [0]) == [first])


def check_inclusion(leaf: bytes, proof: Fields, checkpoint: str) -> None:
    """Compute the root from the leaf and the proof. Compare it with the root in the checkpoint."""
    name, size, root = checkpoint.split("\n")[:3]
    check("proof and checkpoint belong to the same tree", holds=proof.get(2) == [int(size)])
    place, last = proof.get(1, [0])[0], int(size) - 1
    node = sha256(b"\0" + leaf)
    for beside in proof.get(3, []):
        if place & 1 or place == last:
            node = sha256(b"\1" + beside + node)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            node = sha256(b"\1" + node + beside)
        place, last = place >> 1, last >> 1
    there = last == 0 and node == base64.b64decode(root)
    check(f"the match is in the tree of {size}", holds=there)
    say(f"not checked here: the moves, the coins, and the signature of {name}")


def verify(data: bytes) -> None:
    """Check a transcript. Exit at the first false claim."""
    transcript = fields(data)
    check("the format version is 1", holds=transcript.get(1) == [1])
    match_id, records = transcript[2][0], transcript[3]
    head, events, seats, secrets = check_chain(match_id, records)
    opened = events[1]
    server_seed = opened[5][0]
    kept = sha256(server_seed) == opened[4][0]
    check("the server seed matches its commitment", holds=kept)
    if 17 in events:  # finished
        check("the seed revealed at the end is the same", holds=events[17][5][0] == server_seed)
    if 4 in events:  # dealt
        check_promises(match_id, seats, secrets)
        check_deal(match_id, fields(opened[1][0]), events[4], server_seed, secrets)
    if 5 not in transcript:
        say("not proven: there is no checkpoint, so the service did not sign this match")
        return
    leaf = b"durak.v1.leaf" + match_id + len(records).to_bytes(4, "big") + head
    check_inclusion(leaf, fields(transcript[5][0]), transcript[6][0].decode())


if __name__ == "__main__":
    try:
        verify(Path(sys.argv[1]).read_bytes())
    except (ValueError, KeyError, IndexError, TypeError) as error:
        check(f"the file can be read ({error!r})", holds=False)
