/** The shuffle: a secret of our own before the deal, and the check of the deck after the match (R3.4 to R3.6). */
import { clone } from "@bufbuild/protobuf"
import { EventSchema, type Event } from "./gen/durak/v1/events_pb"
import type { TableView } from "./gen/durak/v1/table_pb"

const text = new TextEncoder()

function joined(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((length, it) => length + it.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

const sha256 = async (bytes: Uint8Array): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", joined(bytes)))

const hex = (bytes: Uint8Array): string => Array.from(bytes, (it) => it.toString(16).padStart(2, "0")).join("")
const unhex = (digits: string): Uint8Array => Uint8Array.from(digits.match(/../g) ?? [], (it) => parseInt(it, 16))
const uuid = (id: string): Uint8Array => unhex(id.replaceAll("-", ""))

async function secretHash(matchId: string, playerId: string, secret: Uint8Array): Promise<Uint8Array> {
  const player = text.encode(playerId)
  return sha256(joined(text.encode("durak.v1.seed"), uuid(matchId), Uint8Array.of(player.length), player, secret))
}

/** The id of the rematch of a match: see RematchRequest.client_seed_hash. */
export async function rematchId(matchId: string): Promise<string> {
  const id = (await sha256(joined(text.encode("durak.v1.rematch"), uuid(matchId)))).slice(0, 16)
  id[6] = (id[6]! & 0x0f) | 0x80
  id[8] = (id[8]! & 0x3f) | 0x80
  return hex(id).replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5")
}

interface Promised {
  secret: string
  serverHash?: string
  seatHashes?: string[]
}

const keyOf = (matchId: string): string => `durak.secret.${matchId}`

function promised(matchId: string): Promised | undefined {
  const stored = localStorage.getItem(keyOf(matchId))
  return stored === null ? undefined : (JSON.parse(stored) as Promised)
}

/** Draw and keep a secret for a match. Returns its hash, which is public at once. */
export async function promise(matchId: string, playerId: string): Promise<Uint8Array> {
  const kept = promised(matchId)
  const secret = kept ? unhex(kept.secret) : crypto.getRandomValues(new Uint8Array(32))
  if (!kept) localStorage.setItem(keyOf(matchId), JSON.stringify({ secret: hex(secret) }))
  return secretHash(matchId, playerId, secret)
}

/** Keep what the server and all seats promised. Returns the secret to reveal now. */
export function secretToReveal(view: TableView): Uint8Array | undefined {
  const kept = promised(view.matchId)
  if (!kept) return undefined
  kept.serverHash ??= hex(view.serverSeedHash)
  kept.seatHashes ??= view.seats.map((it) => hex(it.clientSeedHash))
  localStorage.setItem(keyOf(view.matchId), JSON.stringify(kept))
  return unhex(kept.secret)
}

/** `own`: the deck is the promised one, and our secret is part of it. `server`: the same without a secret of ours. */
export type Fairness = "own" | "server" | "wrong"

/**
 * Check the deal of a finished match: the promises, and the deck against every card that we were dealt or drew.
 * `events` are all events from version 1.
 */
export async function checkDeal(matchId: string, events: Event[]): Promise<Fairness> {
  const shuffle = await shuffleOf(matchId, events)
  if (!shuffle || !fits(shuffle.deck, events)) return "wrong"
  const kept = promised(matchId)
  if (!kept?.serverHash) return "server"
  const same = kept.serverHash === shuffle.serverHash && kept.seatHashes?.join() === shuffle.hashes.join()
  return same && shuffle.secrets.some((it) => hex(it) === kept.secret) ? "own" : "wrong"
}

/** The events of a finished match with all cards open. Undefined: the revealed seeds do not give the cards we saw. */
export async function openCards(matchId: string, events: Event[]): Promise<Event[] | undefined> {
  const shuffle = await shuffleOf(matchId, events)
  if (!shuffle || !fits(shuffle.deck, events)) return undefined
  const seats = shuffle.hashes.length
  const stock = stockOf(shuffle.deck, seats)
  return events.map((event) => {
    const open = clone(EventSchema, event)
    if (open.kind.case === "dealt") {
      for (const hand of open.kind.value.hands) hand.cards = hand.cards.map((_, at) => shuffle.deck[hand.seat + at * seats]!)
    } else if (open.kind.case === "drew") {
      for (const draw of open.kind.value.draws) draw.cards = stock.splice(0, draw.cards.length)
    }
    return open
  })
}

interface Shuffle {
  deck: number[]
  serverHash: string
  /** What each seat promised and revealed. Empty: nothing. */
  hashes: string[]
  secrets: Uint8Array[]
}

/** The shuffle of a finished match. Undefined: a seed or secret is not the promised one. */
async function shuffleOf(matchId: string, events: Event[]): Promise<Shuffle | undefined> {
  const opened = first(events, "tableOpened")
  const finished = first(events, "finished")
  const dealt = first(events, "dealt")
  if (!opened || !finished || !dealt) return undefined
  const seats = dealt.hands.length
  const players = Array<string>(seats).fill("")
  const hashes = Array<string>(seats).fill("")
  const secrets = Array.from({ length: seats }, () => new Uint8Array())
  for (const { kind } of events) {
    if (kind.case === "seatTaken") {
      players[kind.value.seat] = kind.value.playerId
      hashes[kind.value.seat] = hex(kind.value.clientSeedHash)
    } else if (kind.case === "seedRevealed") secrets[kind.value.seat] = joined(kind.value.secret)
  }
  const serverHash = hex(opened.serverSeedHash)
  if (hex(await sha256(finished.serverSeed)) !== serverHash) return undefined
  for (let seat = 0; seat < seats; seat++) {
    const secret = secrets[seat]!
    const hash = secret.length ? hex(await secretHash(matchId, players[seat]!, secret)) : ""
    if (hash !== hashes[seat]) return undefined
  }
  const deck = await deckOf(matchId, opened.settings!.deck, finished.serverSeed, secrets)
  return { deck, serverHash, hashes, secrets }
}

/** The stock in drawing order. The first card after the hands shows the trumps and is drawn last. */
function stockOf(deck: number[], seats: number): number[] {
  const rest = deck.slice(6 * seats)
  return [...rest.slice(1), ...rest.slice(0, 1)]
}

type Kind = Event["kind"]
type ValueOf<C> = Extract<Kind, { case: C }> extends { value: infer V } ? V : never

function first<C extends NonNullable<Kind["case"]>>(events: Event[], name: C): ValueOf<C> | undefined {
  return events.find((it) => it.kind.case === name)?.kind.value as ValueOf<C> | undefined
}

async function deckOf(id: string, cards: number, seed: Uint8Array, secrets: Uint8Array[]): Promise<number[]> {
  const parts = secrets.flatMap((it) => [Uint8Array.of(it.length), it])
  const key = await hmac(seed, joined(text.encode("durak.v1.deal2"), uuid(id), ...parts))
  let words: number[] = []
  let block = 0n
  const draw = async (count: number): Promise<number> => {
    for (;;) {
      if (words.length === 0) {
        const counter = new DataView(new ArrayBuffer(8))
        counter.setBigUint64(0, block++)
        const data = new DataView((await hmac(key, new Uint8Array(counter.buffer))).buffer as ArrayBuffer)
        words = Array.from({ length: 8 }, (_, at) => data.getUint32(4 * at))
      }
      const word = words.shift()!
      if (word < 2 ** 32 - (2 ** 32 % count)) return word % count
    }
  }
  const lowest = 15 - cards / 4
  const deck = Array.from({ length: 52 }, (_, at) => at + 1).filter((it) => 2 + ((it - 1) % 13) >= lowest)
  for (let at = deck.length - 1; at > 0; at--) {
    const other = await draw(at + 1)
    ;[deck[at], deck[other]] = [deck[other]!, deck[at]!]
  }
  return deck
}

async function hmac(key: Uint8Array, message: Uint8Array): Promise<Uint8Array> {
  const algorithm = { name: "HMAC", hash: "SHA-256" }
  const imported = await crypto.subtle.importKey("raw", joined(key), algorithm, false, ["sign"])
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, joined(message)))
}

/** True: every card that we could see in deal and draws is the card of the deck at this place. */
function fits(deck: number[], events: Event[]): boolean {
  const dealt = first(events, "dealt")!
  const seats = dealt.hands.length
  const dealtFits = dealt.hands.every((hand) =>
    hand.cards.every((card, at) => card === 0 || card === deck[hand.seat + at * seats]),
  )
  const stock = stockOf(deck, seats)
  const trump = stock.at(-1) ?? deck.at(-1)
  let next = 0
  const drawn = events.flatMap(({ kind }) => (kind.case === "drew" ? kind.value.draws.flatMap((it) => it.cards) : []))
  return dealtFits && dealt.trumpCard === trump && drawn.every((card) => card === stock[next++] || card === 0)
}
