/** Events, names and times in words, for the line under the table and for screen readers. */
import { timestampDate, type Timestamp } from "@bufbuild/protobuf/wkt"
import { nameOf } from "./cards"
import { TookReason, type Event } from "./gen/durak/v1/events_pb"
import { BotLevel } from "./gen/durak/v1/settings_pb"
import type { Move, SeatView, TableView } from "./gen/durak/v1/table_pb"
import { TransferKind, type Transfer } from "./gen/durak/v1/wallet_service_pb"
import { language } from "./settings"
import { t, type TextId } from "./texts"

/** The name in the id of a player. */
export const playerName = (id: string): string => decodeURIComponent(id)

export const timeOf = (time: Timestamp | undefined): string =>
  time ? timestampDate(time).toLocaleString(language.value, { dateStyle: "short", timeStyle: "short" }) : ""

export const signed = (coins: bigint): string => (coins > 0n ? `+${coins}` : String(coins))

/** Why coins moved. */
export const coinsOf = (transfer: Transfer): string => t(`k${TransferKind[transfer.kind]}` as TextId)

export function seatName(view: TableView, seat: number): string {
  return seat === view.yourSeat ? t("you") : nameOfSeat(view.seats[seat])
}

export function nameOfSeat(seat: Pick<SeatView, "seat" | "taken" | "displayName" | "botLevel"> | undefined): string {
  if (!seat?.taken) return t("freeSeat")
  return seat.botLevel === BotLevel.UNSPECIFIED ? seat.displayName : `${t("bot")} ${seat.seat + 1}`
}

export function gameName({ settings }: Pick<TableView, "settings">): string {
  if (!settings) return ""
  const parts = [t(settings.transfer ? "perevodnoy" : "podkidnoy")]
  if (settings.tricky) parts.push(t("tricky"))
  parts.push(String(settings.deck))
  if (settings.stakeCoins) parts.push(`${settings.stakeCoins} ${t("coins")}`)
  return parts.join(" · ")
}

/** Return the sentence of an event. Empty for events that the table itself shows. */
export function sentence(view: TableView, { kind }: Event): string {
  const name = (seat: number): string => nameOfSeat(view.seats[seat])
  const card = (it: number): string => nameOf(it, language.value)
  switch (kind.case) {
    case "seatTaken":
      return t("eSeatTaken", name(kind.value.seat))
    case "seatVacated":
      return t("eSeatVacated", kind.value.seat + 1)
    case "dealt":
      return t("eDealt", card(kind.value.trumpCard))
    case "attacked":
      return t("eAttacked", name(kind.value.seat), card(kind.value.card))
    case "defended":
      return t("eDefended", name(kind.value.seat), card(kind.value.attackCard), card(kind.value.card))
    case "transferred":
      return t("eTransferred", name(kind.value.seat), card(kind.value.card))
    case "passed":
      return t("ePassed", name(kind.value.seat))
    case "takeDeclared":
      return t("eTakeDeclared", name(kind.value.seat))
    case "took": {
      const { seat, cards, reason } = kind.value
      const id = reason === TookReason.CHEAT ? "eCheat" : reason === TookReason.FALSE_ACCUSATION ? "eFalse" : "eTook"
      return t(id, name(seat), cards.length)
    }
    case "discarded":
      return t("eDiscarded")
    case "wentOut":
      return t("eWentOut", kind.value.seats.map(name).join(", "))
    case "challenged":
      return t("eChallenged", name(kind.value.seat))
    case "timedOut":
      return t("eTimedOut", name(kind.value.seat))
    case "left":
      return t("eLeft", name(kind.value.seat))
    default:
      return ""
  }
}

/** A move in words, such as a better one that the service names. */
export function moveWords({ kind }: Move): string {
  const card = (it: number): string => nameOf(it, language.value)
  switch (kind.case) {
    case "attack":
      return card(kind.value.card)
    case "defend":
      return t("mDefend", card(kind.value.attackCard), card(kind.value.card))
    case "transfer":
      return t("mTransfer", card(kind.value.card))
    case "take":
      return t("take")
    default:
      return t("pass")
  }
}
