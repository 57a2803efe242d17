/** The news that a player keeps, and where the feed continues after them. They are stored together, so none is lost or repeated. */
import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf"
import { WatchPlayerResponseSchema, type PlayerNews, type WatchPlayerResponse } from "./gen/durak/v1/feed_service_pb"
import { TransferKind } from "./gen/durak/v1/wallet_service_pb"

const KEPT_MAX = 50

export interface Inbox {
  readonly position: string
  /** The newest first. */
  readonly news: readonly PlayerNews[]
}

export const EMPTY: Inbox = { position: "", news: [] }

/** Return the inbox of a player after a message of the feed. */
export function received(inbox: Inbox, message: WatchPlayerResponse, player: string): Inbox {
  let news = inbox.news
  for (const one of message.news) {
    news = news.filter((it) => !isSettledBy(it, one, player))
    if (isKept(one, player)) news = [one, ...news].slice(0, KEPT_MAX)
  }
  return { position: message.position, news }
}

/** What names a piece of news. */
export function keyOf({ kind }: PlayerNews): string {
  switch (kind.case) {
    case "dispute":
      return `dispute ${kind.value.disputeId} ${kind.value.version}`
    case "coinsMoved":
      return `coins ${kind.value.number}`
    case "ratingChanged":
      return `rating ${kind.value.matchId} ${kind.value.points}`
    default:
      return `${kind.case} ${kind.value?.matchId} ${kind.value?.version}`
  }
}

/** The match of the news. Empty: coins without a match. */
export const matchOf = ({ kind }: PlayerNews): string => kind.value?.matchId ?? ""

/** The offer to repeat a match, if one waits for the player. */
export function offerOf(inbox: Inbox, matchId: string): string | undefined {
  for (const { kind } of inbox.news) if (kind.case === "rematchOffered" && kind.value.rematchOf === matchId) return kind.value.matchId
  return undefined
}

/** True: `old` asked the player for something, and after `later` it does not. */
function isSettledBy(old: PlayerNews, later: PlayerNews, player: string): boolean {
  if (matchOf(old) !== matchOf(later)) return false
  const isOffer = old.kind.case === "invitation" || old.kind.case === "rematchOffered"
  const isTurn = old.kind.case === "yourTurn"
  switch (later.kind.case) {
    case "yourTurn":
      return isTurn
    case "matchOver":
      return isTurn || isOffer
    case "seatTaken":
      return isOffer && later.kind.value.playerId === player
    default:
      return false
  }
}

const OWN_COINS = [TransferKind.OPENING, TransferKind.STAKE, TransferKind.POST]

/** False for what the player did and the coins of it, for bots at the table, and for unknown kinds. */
function isKept({ kind }: PlayerNews, player: string): boolean {
  switch (kind.case) {
    case "seatTaken":
      return kind.value.playerId !== "" && kind.value.playerId !== player
    case "seatVacated":
      return kind.value.playerId !== player || kind.value.removed
    case "coinsMoved":
      return !OWN_COINS.includes(kind.value.kind)
    default:
      return kind.case !== undefined
  }
}

export function stored({ position, news }: Inbox): string {
  return toJsonString(WatchPlayerResponseSchema, create(WatchPlayerResponseSchema, { position, news: [...news] }))
}

/** Return what was stored. If it cannot be read, the feed begins now. */
export function restored(text: string | null): Inbox {
  try {
    const { position, news } = fromJsonString(WatchPlayerResponseSchema, text ?? "", { ignoreUnknownFields: true })
    return { position, news }
  } catch {
    return EMPTY
  }
}
