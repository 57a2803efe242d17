// Verifies a transcript from its bytes and a public key (docs/transcript-format.md). The report page has this module
// inside, and docs/verify_example.mjs runs it in Node. It needs only WebCrypto.

// The checks in their order. `#` stands for the number or name that belongs to the claim.
export const CLAIMS = {
  format: "the file is a transcript of version 1",
  link: "the hash chain is valid at version #",
  record: "record # has the right match and version",
  chain: "the hash chain is valid over # records",
  seed: "the server seed matches its commitment",
  end: "the seed revealed at the end is the same",
  promises: "every promised secret is revealed",
  secrets: "each secret has the hash that its seat promised",
  hands: "the hands follow from the shuffle",
  trump: "the trump card follows from the shuffle",
  stock: "the stock follows from the shuffle",
  first: "the right seat leads the first bout",
  play: "the cards of version # were there to be moved, and fit the table",
  cards: "every card comes from the deal and fits the table",
  ledger: "the coins are those that the events demand",
  size: "proof and checkpoint belong to the same tree",
  tree: "the match is in the tree of #",
  key: "the public key is complete",
  signed: "# has signed the checkpoint",
};

class Refuted extends Error {}

const subtle = globalThis.crypto?.subtle;
const EMPTY = new Uint8Array();
const ascii = (text) => new TextEncoder().encode(text);
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const equal = (a, b) => hex(a) === hex(b);

function join(...parts) {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}

const sha256 = async (...parts) => new Uint8Array(await subtle.digest("SHA-256", join(...parts)));

async function hmac(key, data) {
  const secret = await subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await subtle.sign("HMAC", secret, data));
}

function bigEndian(value, bytes) {
  const whole = new Uint8Array(8);
  new DataView(whole.buffer).setBigUint64(0, BigInt(value));
  return whole.subarray(8 - bytes);
}

// Returns the bytes of a base64 text. Refuses every text but the one that encodes these bytes.
export function fromBase64(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  if (toBase64(bytes) !== text) throw new Error("not base64");
  return bytes;
}
const toBase64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));

// Returns the fields of a protobuf message: number -> values in order. Numbers are BigInt, the rest is bytes.
function fields(data) {
  const found = {};
  let at = 0;
  let last = 0n;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; shift < 64n; shift += 7n) {
      if (at >= data.length) break;
      const byte = data[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) {
        if (byte === 0 && shift > 0n) throw new Error("a number is not in its shortest form");
        return value;
      }
    }
    throw new Error("the file is cut short");
  };
  while (at < data.length) {
    const tag = varint();
    if (tag >> 3n < last) throw new Error("fields are not in order");
    last = tag >> 3n;
    let value;
    if ((tag & 7n) === 0n) value = varint();
    else if ((tag & 7n) === 2n) {
      const length = Number(varint());
      if (at + length > data.length) throw new Error("the file is cut short");
      value = data.subarray(at, at + length);
      at += length;
    } else throw new Error(`wire type ${tag & 7n} is not used in transcripts`);
    (found[last] ??= []).push(value);
  }
  return found;
}

// Returns the fields of a message of the file itself. `shape` has the kind of each field: "number" or "bytes", with * if repeated.
function strict(data, shape) {
  const found = fields(data);
  for (const [field, values] of Object.entries(found)) {
    const [, kind, repeated] = /^(\w+)(\*?)$/.exec(shape[field] ?? "none");
    const fits = values.every((value) => (typeof value === "bigint") === (kind === "number"));
    const bare = !repeated && (values.length > 1 || !values[0] || values[0].length === 0);
    if (kind === "none" || !fits || bare) throw new Error(`field ${field} is not in canonical form`);
  }
  return found;
}

function encode(message) {
  const varint = (value) => {
    const bytes = [];
    for (; value > 127n; value >>= 7n) bytes.push(Number(value & 127n) | 128);
    return [...bytes, Number(value)];
  };
  return join(
    ...Object.entries(message).map(([field, value]) => {
      const tag = BigInt(field) << 3n;
      if (typeof value === "bigint") return value ? Uint8Array.from([...varint(tag), ...varint(value)]) : EMPTY;
      return value.length ? join(Uint8Array.from([...varint(tag | 2n), ...varint(BigInt(value.length))]), value) : EMPTY;
    }),
  );
}

const number = (values) => {
  const value = values?.[0] ?? 0n;
  if (typeof value !== "bigint") throw new Error("a number is missing");
  return Number(value);
};
// Events of a seat have it as their first field.
const seatOf = (body) => (typeof body[1]?.[0] === "bigint" ? Number(body[1][0]) : 0);
const bytes = (values) => values?.[0] ?? EMPTY;
const cards = (values) => [...bytes(values)]; // packed; every card is below 128
const suit = (card) => Math.floor((card - 1) / 13);
const rank = (card) => (card - 1) % 13;

// Returns a function that draws the next uniform number in 0 ... m - 1 from the stream of a deal key.
function stream(key) {
  const words = [];
  let block = 0;
  return async (m) => {
    for (;;) {
      if (words.length === 0) {
        const digest = new DataView((await hmac(key, bigEndian(block++, 8))).buffer);
        for (let at = 0; at < 32; at += 4) words.push(digest.getUint32(at));
      }
      const word = words.shift();
      if (word < 2 ** 32 - (2 ** 32 % m)) return word % m;
    }
  };
}

// Checks the chain. Returns the records as { version, kind, body, fields }.
async function checkChain(stored, matchId, check) {
  const records = [];
  let head = await sha256(ascii("durak.v1.match"), matchId);
  for (const [at, data] of stored.entries()) {
    const item = strict(data, { 1: "bytes", 2: "bytes" });
    head = await sha256(head, bytes(item[1]));
    if (!equal(head, bytes(item[2]))) check("link", false, at + 1);
    const record = fields(item[1][0]);
    if (!equal(bytes(record[1]), matchId) || number(record[2]) !== at + 1) check("record", false, at + 1);
    const [[kind, bodies]] = Object.entries(fields(bytes(record[8])));
    records.push({ version: at + 1, kind: Number(kind), body: fields(bodies[0]), fields: record });
  }
  check("chain", records.length > 0, records.length);
  return [records, head];
}

// Each seat must have revealed the secret that it promised, and no other seat anything. Returns the secrets by seat.
async function checkPromises(records, matchId, check) {
  const taken = new Map();
  const secrets = new Map();
  for (const { kind, body } of records) {
    const seat = seatOf(body);
    if (kind === 2) taken.set(seat, body);
    if (kind === 3) taken.delete(seat);
    if (kind === 18) secrets.set(seat, bytes(body[2]));
  }
  const promised = [...taken.keys()].filter((seat) => taken.get(seat)[4]);
  check("promises", same(promised.sort(), [...secrets.keys()].sort()));
  let fit = true;
  for (const [seat, secret] of secrets) {
    const { 2: player, 4: promise } = taken.get(seat);
    const length = Uint8Array.of(bytes(player).length);
    fit &&= equal(await sha256(ascii("durak.v1.seed"), matchId, length, bytes(player), secret), promise[0]);
  }
  check("secrets", fit);
  return secrets;
}

async function checkDeal(dealt, settings, serverSeed, matchId, secrets, check) {
  const seats = number(settings[2]);
  const size = number(settings[1]);
  const bySeat = Array.from({ length: seats }, (_, seat) => secrets.get(seat) ?? EMPTY);
  const message = bySeat.flatMap((secret) => [Uint8Array.of(secret.length), secret]);
  const below = stream(await hmac(serverSeed, join(ascii("durak.v1.deal2"), matchId, ...message)));
  const deck = Array.from({ length: 52 }, (_, i) => i + 1).filter((card) => 2 + rank(card) >= 15 - size / 4);
  for (let i = size - 1; i > 0; i--) {
    const j = await below(i + 1);
    [deck[i], deck[j]] = [deck[j], deck[i]];
  }
  const hands = dealt[1].map((hand) => cards(fields(hand)[2]));
  const due = hands.map((_, seat) => deck.slice(0, 6 * seats).filter((_, turn) => turn % seats === seat));
  check("hands", hands.length === seats && same(hands, due));
  const rest = deck.slice(6 * seats);
  const trump = rest[0] ?? deck[size - 1];
  check("trump", number(dealt[2]) === trump);
  check("stock", same(cards(dealt[3]), [...rest.slice(1), ...rest.slice(0, 1)]));
  const trumps = hands.flat().filter((card) => suit(card) === suit(trump));
  const lowest = Math.min(...trumps);
  const first = trumps.length ? hands.findIndex((hand) => hand.includes(lowest)) : await below(seats);
  check("first", number(dealt[4]) === first);
}

// The cards on the table, in the hands and in the stock. `move` returns false if an event does not fit them.
class Cards {
  hands = [];
  table = []; // [attack card, the card that beat it or 0]
  stock = [];
  discard = 0;

  constructor(isTricky) {
    this.isTricky = isTricky;
  }

  move(kind, body) {
    const seat = seatOf(body);
    if (kind === 4) return this.deal(body);
    if (kind === 5) return this.attack(seat, number(body[2]));
    if (kind === 6) return this.defend(seat, number(body[2]), number(body[3]));
    if (kind === 7) return this.transfer(seat, number(body[2]));
    if (kind === 10) return this.clear(cards(body[2]), (all) => all.forEach((card) => this.hands[seat].add(card)));
    if (kind === 11) return this.table.every(([, beaten]) => beaten) && this.clear(cards(body[1]), (all) => (this.discard += all.length));
    if (kind === 12) return body[1].map(fields).every((draw) => this.draw(number(draw[1]), cards(draw[2])));
    return true;
  }

  deal(body) {
    this.hands = body[1].map((hand) => new Set(cards(fields(hand)[2])));
    this.stock = cards(body[3]);
    this.trumps = suit(number(body[2]));
    return true;
  }

  attack(seat, card) {
    const fits = !this.table.length || this.table.flat().some((other) => other && rank(other) === rank(card));
    this.table.push([card, 0]);
    return this.hands[seat].delete(card) && (fits || this.isTricky);
  }

  transfer(seat, card) {
    const fits = this.table.length > 0 && this.table.every(([other, beaten]) => !beaten && rank(other) === rank(card));
    this.table.push([card, 0]);
    return this.hands[seat].delete(card) && (fits || this.isTricky);
  }

  defend(seat, attack, card) {
    const pair = this.table.find(([other, beaten]) => other === attack && !beaten);
    if (!pair) return false;
    pair[1] = card;
    const beats = suit(card) === suit(attack) ? rank(card) > rank(attack) : suit(card) === this.trumps;
    return this.hands[seat].delete(card) && (beats || this.isTricky);
  }

  clear(all, put) {
    const fits = same(all, this.table.flat().filter(Boolean));
    put(all);
    this.table = [];
    return fits;
  }

  draw(seat, drawn) {
    drawn.forEach((card) => this.hands[seat].add(card));
    return same(drawn, this.stock.splice(0, drawn.length)) && this.hands[seat].size <= 6;
  }

  // The table in the form that the frames of the report have.
  shown() {
    const hands = this.hands.map((hand) => [...hand].sort((a, b) => a - b));
    return { hands, table: this.table.map((pair) => [...pair]), stock: [...this.stock], discard: this.discard };
  }
}

function checkCards(records, isTricky, check) {
  const state = new Cards(isTricky);
  const tables = records.map(({ version, kind, body }) => {
    if (!state.move(kind, body)) check("play", false, version);
    return state.shown();
  });
  check("cards", true);
  return tables;
}

// Each movement of coins is two entries of the ledger, which must be byte for byte those that the events demand.
async function checkLedger(records, stake, matchId, ledger, check) {
  const command = (record) => [3, 4, 5, 6].map((field) => String(record.fields[field]));
  const ends = records.map((record) => record.version);
  for (let at = records.length - 2; at >= 0; at--) {
    if (records[at].fields[6] && same(command(records[at]), command(records[at + 1]))) ends[at] = ends[at + 1];
  }
  const due = [];
  const ordinals = {};
  const seats = new Map();
  const add = async (record, kind, player, coins, ordinal) => {
    const place = join(bigEndian(ends[record.version - 1], 4), bigEndian(ordinal, 4));
    const id = (await sha256(ascii("durak.v1.transfer"), matchId, place)).subarray(0, 16);
    for (const [who, sum] of [[player, coins], [EMPTY, -coins]]) {
      const zigzag = sum < 0n ? -2n * sum - 1n : 2n * sum;
      const time = bytes(record.fields[3]);
      due.push(encode({ 1: id, 2: kind, 3: matchId, 4: BigInt(record.version), 5: who, 6: zigzag, 7: time }));
    }
  };
  for (const record of stake ? records : []) {
    const { kind, body } = record;
    const seat = seatOf(body);
    const end = ends[record.version - 1];
    ordinals[end] ??= 0;
    if (kind === 2 && body[2]) {
      seats.set(seat, body[2][0]);
      await add(record, 1n, body[2][0], -stake, ordinals[end]++);
    } else if (kind === 3 && seats.has(seat)) {
      await add(record, 2n, seats.get(seat), stake, ordinals[end]++);
      seats.delete(seat);
    } else if (kind === 17) {
      const results = (body[2] ?? []).map(fields);
      const shares = new Map(results.map((result) => [number(result[1]), result[3]?.[0] ?? 0n]));
      const returned = [...seats.keys()].every((who) => shares.get(who) === stake);
      const paid = returned ? [...seats.keys()] : [...seats.keys()].sort().filter((who) => shares.get(who));
      const start = ordinals[end] + (returned ? 0 : seats.size);
      for (const [at, who] of paid.entries()) await add(record, 3n, seats.get(who), shares.get(who), start + at);
      check("ledger", [...shares.values()].reduce((sum, share) => sum + share, 0n) === stake * BigInt(seats.size));
    }
  }
  check("ledger", same(due.map(hex), (ledger ?? []).map(hex)));
}

async function checkInclusion(proof, note, leaf, check) {
  const [, size, root] = note.split("\n");
  check("size", String(proof[2]?.[0] ?? 0n) === size);
  let place = proof[1]?.[0] ?? 0n;
  let last = BigInt(size) - 1n;
  let node = await sha256(Uint8Array.of(0), leaf);
  for (const beside of proof[3] ?? []) {
    if (last === 0n) check("tree", false, size); // more hashes than the tree has levels
    if (place & 1n || place === last) {
      node = await sha256(Uint8Array.of(1), beside, node);
      while (!(place & 1n) && place) [place, last] = [place >> 1n, last >> 1n];
    } else node = await sha256(Uint8Array.of(1), node, beside);
    [place, last] = [place >> 1n, last >> 1n];
  }
  check("tree", place === 0n && last === 0n && toBase64(node) === root, size);
}

async function readKey(publicKey) {
  const [, name, id, data] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(publicKey);
  const raw = fromBase64(data);
  const due = await sha256(ascii(`${name}\n`), raw);
  if (raw.length !== 33 || raw[0] !== 1 || hex(due.subarray(0, 4)) !== id) throw new Error("not a key");
  return { name, id, raw: raw.subarray(1) };
}

// Returns false if this browser cannot check signatures.
async function checkSignature(note, publicKey, check) {
  const given = await readKey(publicKey).catch(() => null);
  check("key", given !== null);
  const end = note.lastIndexOf("\n\n") + 1;
  const lines = note.slice(end + 1, -1).split("\n");
  const isNote = note.endsWith("\n") && lines.every((line) => /^— \S+ \S+$/.test(line));
  const signatures = lines
    .filter((line) => line.startsWith(`— ${given.name} `))
    .map((line) => fromBase64(line.split(" ")[2]))
    .filter((signature) => hex(signature.subarray(0, 4)) === given.id);
  let good = isNote && signatures.length > 0 && note.split("\n")[0] === given.name;
  let key;
  try {
    key = await subtle.importKey("raw", given.raw, "Ed25519", false, ["verify"]);
  } catch (error) {
    if (error.name === "NotSupportedError") return false;
    throw error;
  }
  for (const signature of good ? signatures : []) {
    good &&= await subtle.verify("Ed25519", key, signature.subarray(4), ascii(note.slice(0, end)));
  }
  check("signed", good, given.name);
  return true;
}

// Verifies a transcript (Uint8Array) and returns { checks, missing, tables }. `checks` are { claim, value, holds } up to
// the first that does not hold. `missing` says why nothing is proven: crypto, checkpoint, key or ed25519; "" if all is.
// `tables` has the table after each record, or nothing if a check before it failed.
export async function verify(data, publicKey) {
  const checks = [];
  const found = { checks, missing: "", tables: null };
  const check = (claim, holds, value = "") => {
    checks.push({ claim, value, holds });
    if (!holds) throw new Refuted(claim);
  };
  if (!subtle) return { ...found, missing: "crypto" };
  try {
    await judge(data, publicKey, check, found);
  } catch (error) {
    // Whatever cannot be read is refuted: the service writes no such file.
    if (!(error instanceof Refuted)) checks.push({ claim: "format", value: "", holds: false, error: error.message });
  }
  return found;
}

async function judge(data, publicKey, check, found) {
  const file = strict(data, { 1: "number", 2: "bytes", 3: "bytes*", 4: "bytes*", 5: "bytes", 6: "bytes" });
  check("format", number(file[1]) === 1);
  const matchId = bytes(file[2]);
  const [records, head] = await checkChain(file[3], matchId, check);
  const opened = records[0].body;
  const settings = fields(opened[1][0]);
  const serverSeed = bytes(opened[5]);
  check("seed", equal(await sha256(serverSeed), bytes(opened[4])));
  const finished = records.find((record) => record.kind === 17);
  if (finished) check("end", equal(bytes(finished.body[5]), serverSeed));
  const dealt = records.find((record) => record.kind === 4);
  if (dealt) {
    const secrets = await checkPromises(records, matchId, check);
    await checkDeal(dealt.body, settings, serverSeed, matchId, secrets, check);
  }
  found.tables = checkCards(records, number(settings[7]) > 0, check);
  await checkLedger(records, settings[9]?.[0] ?? 0n, matchId, file[4], check);
  if (!file[5]) return void (found.missing = "checkpoint");
  const proof = strict(file[5][0], { 1: "number", 2: "number", 3: "bytes*" });
  const note = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes(file[6]));
  const leaf = join(ascii("durak.v1.leaf"), matchId, bigEndian(records.length, 4), head);
  await checkInclusion(proof, note, leaf, check);
  if (!publicKey) found.missing = "key";
  else if (!(await checkSignature(note, publicKey, check))) found.missing = "ed25519";
}
