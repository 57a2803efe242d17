// A small second verifier of transcripts: it checks the hash chain, the shuffle, the proof and the
// signature. It needs only Node 18 or newer.
//
//     node docs/verify_example.mjs FILE [PUBLIC KEY]
//
// It is an example for authors of verifiers (docs/transcript-format.md). It does not judge moves.

import { createHash, createHmac, createPublicKey, verify as verifySignature } from "node:crypto";
import { readFileSync } from "node:fs";

const sha256 = (...parts) => createHash("sha256").update(Buffer.concat(parts)).digest();
const hmac = (key, data) => createHmac("sha256", key).update(data).digest();

function check(claim, holds) {
  console.log(holds ? "ok  " : "FALSE", claim);
  if (!holds) process.exit(1);
}

// Returns the fields of a protobuf message: number -> values in order. Numbers are BigInt, the rest is Buffer.
function fields(data) {
  const found = {};
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (at >= data.length) throw new Error("the file is cut short");
      const byte = data[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < data.length) {
    const tag = varint();
    let value;
    if ((tag & 7n) === 0n) value = varint();
    else if ((tag & 7n) === 2n) {
      const length = Number(varint());
      if (at + length > data.length) throw new Error("the file is cut short");
      value = data.subarray(at, at + length);
      at += length;
    } else throw new Error(`wire type ${tag & 7n} is not used in transcripts`);
    (found[tag >> 3n] ??= []).push(value);
  }
  return found;
}

const number = (values) => Number(values?.[0] ?? 0n);
const cards = (values) => (values ? [...values[0]] : []); // packed; every card is below 128
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function bigEndian(value, bytes) {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64BE(BigInt(value));
  return buffer.subarray(8 - bytes);
}

// Returns a function `below(m)` that draws the next uniform number in 0 ... m - 1 from the stream of a deal key.
function stream(key) {
  let words = [];
  let block = 0;
  return function below(m) {
    for (;;) {
      if (words.length === 0) {
        const digest = hmac(key, bigEndian(block++, 8));
        words = [0, 4, 8, 12, 16, 20, 24, 28].map((at) => digest.readUInt32BE(at));
      }
      const word = words.shift();
      if (word < 2 ** 32 - (2 ** 32 % m)) return word % m;
    }
  };
}

// Each seat must have revealed the secret that it promised, and no other seat anything.
function checkPromises(matchId, taken, secrets) {
  const promised = [...taken].filter(([, { promise }]) => promise.length).map(([seat]) => seat);
  check("every promised secret is revealed", same(promised.sort(), [...secrets.keys()].sort()));
  const fits = [...secrets].every(([seat, secret]) => {
    const { playerId, promise } = taken.get(seat);
    const length = Buffer.from([playerId.length]);
    return sha256(Buffer.from("durak.v1.seed"), matchId, length, playerId, secret).equals(promise);
  });
  check("each secret has the hash that its seat promised", fits);
}

function checkDeal(dealt, settings, serverSeed, matchId, secrets) {
  const seats = number(settings[2]);
  const size = number(settings[1]);
  const bySeat = Array.from({ length: seats }, (_, seat) => secrets.get(seat) ?? Buffer.alloc(0));
  const message = bySeat.flatMap((secret) => [Buffer.from([secret.length]), secret]);
  const below = stream(hmac(serverSeed, Buffer.concat([Buffer.from("durak.v1.deal2"), matchId, ...message])));
  const lowest = 15 - size / 4;
  const deck = Array.from({ length: 52 }, (_, i) => i + 1).filter((card) => 2 + ((card - 1) % 13) >= lowest);
  for (let i = size - 1; i > 0; i--) {
    const j = below(i + 1);
    [deck[i], deck[j]] = [deck[j], deck[i]];
  }
  const hands = dealt[1].map((hand) => cards(fields(hand)[2]));
  const due = hands.map((_, seat) => deck.slice(0, 6 * seats).filter((_, turn) => turn % seats === seat));
  check("the hands follow from the shuffle", hands.length === seats && same(hands, due));
  const rest = deck.slice(6 * seats);
  const trump = rest[0] ?? deck[size - 1];
  check("the trump card follows from the shuffle", number(dealt[2]) === trump);
  check("the stock follows from the shuffle", same(cards(dealt[3]), [...rest.slice(1), ...rest.slice(0, 1)]));
  const suit = (card) => Math.floor((card - 1) / 13);
  const trumps = hands.flat().filter((card) => suit(card) === suit(trump));
  const lowestTrump = Math.min(...trumps);
  const first = trumps.length ? hands.findIndex((hand) => hand.includes(lowestTrump)) : below(seats);
  check("the right seat leads the first bout", number(dealt[4]) === first);
}

function checkInclusion(transcript, leaf) {
  const proof = fields(transcript[5][0]);
  const [, size, root] = transcript[6][0].toString().split("\n");
  check("proof and checkpoint belong to the same tree", String(proof[2]?.[0] ?? 0n) === size);
  let place = proof[1]?.[0] ?? 0n;
  let last = BigInt(size) - 1n;
  let node = sha256(Buffer.from([0]), leaf);
  for (const beside of proof[3] ?? []) {
    if (place & 1n || place === last) {
      node = sha256(Buffer.from([1]), beside, node);
      while (!(place & 1n) && place) [place, last] = [place >> 1n, last >> 1n];
    } else node = sha256(Buffer.from([1]), node, beside);
    [place, last] = [place >> 1n, last >> 1n];
  }
  check(`the match is in the tree of ${size}`, last === 0n && node.toString("base64") === root);
}

function checkSignature(note, publicKey) {
  const [name, keyId, ...data] = publicKey.split("+"); // the base64 may have a plus, too
  const raw = Buffer.from(data.join("+"), "base64").subarray(1);
  const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), raw]);
  const key = createPublicKey({ key: der, format: "der", type: "spki" });
  const end = note.lastIndexOf("\n\n") + 1;
  const lines = note.slice(end + 1).split("\n");
  const signatures = lines
    .filter((line) => line.startsWith(`— ${name} `))
    .map((line) => Buffer.from(line.split(" ")[2], "base64"))
    .filter((signature) => signature.subarray(0, 4).toString("hex") === keyId);
  const text = Buffer.from(note.slice(0, end));
  const good = signatures.length > 0 && signatures.every((it) => verifySignature(null, text, key, it.subarray(4)));
  check(`${name} has signed the checkpoint`, good && note.split("\n")[0] === name);
}

function verify(data, publicKey) {
  const transcript = fields(data);
  check("the format version is 1", number(transcript[1]) === 1);
  const matchId = transcript[2][0];
  let link = sha256(Buffer.from("durak.v1.match"), matchId);
  const events = {};
  const taken = new Map();
  const secrets = new Map();
  transcript[3].map(fields).forEach((item, at) => {
    link = sha256(link, item[1][0]);
    if (!link.equals(item[2][0])) check(`the hash chain is valid at version ${at + 1}`, false);
    const record = fields(item[1][0]);
    const named = record[1][0].equals(matchId) && number(record[2]) === at + 1;
    if (!named) check(`record ${at + 1} has the right match and version`, false);
    const [kind, bodies] = Object.entries(fields(record[8][0]))[0];
    const body = fields(bodies[0]);
    events[kind] = body;
    const seat = number(body[1]);
    const [playerId, promise] = [2, 4].map((field) => body[field]?.[0] ?? Buffer.alloc(0));
    if (kind === "2") taken.set(seat, { playerId, promise }); // seat_taken
    if (kind === "3") taken.delete(seat); // seat_vacated
    if (kind === "18") secrets.set(seat, body[2][0]); // seed_revealed
  });
  const count = transcript[3].length;
  check(`the hash chain is valid over ${count} records`, true);

  const opened = events[1];
  const serverSeed = opened[5][0];
  check("the server seed matches its commitment", sha256(serverSeed).equals(opened[4][0]));
  if (events[17]) check("the seed revealed at the end is the same", events[17][5][0].equals(serverSeed));
  if (events[4]) {
    checkPromises(matchId, taken, secrets);
    checkDeal(events[4], fields(opened[1][0]), serverSeed, matchId, secrets);
  }

  if (!transcript[5]) return console.log("not proven: there is no checkpoint, so the service did not sign this match");
  checkInclusion(transcript, Buffer.concat([Buffer.from("durak.v1.leaf"), matchId, bigEndian(count, 4), link]));
  if (publicKey) checkSignature(transcript[6][0].toString(), publicKey);
  console.log(`not checked here: the moves, the coins${publicKey ? "" : ", and the signature of the checkpoint"}`);
}

try {
  verify(readFileSync(process.argv[2]), process.argv[3]);
} catch (error) {
  check(`the file can be read (${error.message})`, false);
}
