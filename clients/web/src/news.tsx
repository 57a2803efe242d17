/** News of the player: a quiet notice on each page, their number, and the list of the last ones. */
import { effect } from "@preact/signals"
import type { JSX } from "preact"
import { useEffect } from "preact/hooks"
import { playerOf, token } from "./calls"
import { STATUS_NAMES } from "./disputes"
import { inbox, latest, unseen } from "./feed"
import { Outcome } from "./gen/durak/v1/events_pb"
import type { MatchOver, PlayerNews } from "./gen/durak/v1/feed_service_pb"
import { TransferKind } from "./gen/durak/v1/wallet_service_pb"
import { keyOf, matchOf } from "./inbox"
import { coinsOf, gameName, playerName, signed, timeOf } from "./narration"
import { t } from "./texts"

const NOTICE_MS = 8_000

effect(() => {
  const count = unseen.value.length
  document.title = count ? `(${count}) ${t("title")}` : t("title")
})

/** Return the news in one sentence. */
function words({ kind }: PlayerNews): string {
  switch (kind.case) {
    case "yourTurn":
      return t("nYourTurn")
    case "invitation":
      return t("nInvitation", playerName(kind.value.ownerId), gameName(kind.value))
    case "rematchOffered":
      return t("nRematch")
    case "seatTaken":
      return t(kind.value.isRematch ? "nAccepted" : "nSeatTaken", kind.value.displayName)
    case "seatVacated":
      return kind.value.playerId === playerOf(token.value)?.id ? t("nRemoved") : t("nSeatVacated", playerName(kind.value.playerId))
    case "dealt":
      return t("nDealt")
    case "matchOver":
      return t("nMatchOver", resultOf(kind.value))
    case "dispute":
      return t("nDispute", t(STATUS_NAMES[kind.value.status]))
    case "coinsMoved": {
      const { coins, kind: why } = kind.value
      return t("nCoins", coinsOf(kind.value), signed(why === TransferKind.CORRECTION_OUT ? -coins : coins))
    }
    case "ratingChanged":
      return t("nRating", kind.value.points)
    default:
      return ""
  }
}

function resultOf({ result, seat }: MatchOver): string {
  if (!result || result.outcome === Outcome.CANCELLED) return t("cancelled")
  if (result.outcome === Outcome.DRAW) return t("draw")
  if (seat === undefined) return ""
  return t((result.leaver ?? result.durak) === seat ? "youDurak" : "youWon")
}

function href(news: PlayerNews): string {
  if (news.kind.case === "ratingChanged") return "#/ratings"
  return matchOf(news) ? `#/match/${matchOf(news)}` : "#/coins"
}

/** The number of news that the player has not seen. */
export function Bell(): JSX.Element {
  const count = unseen.value.length
  return (
    <a class="bell quiet button" href="#/news" aria-label={count ? t("newsCount", count) : t("news")}>
      <span aria-hidden="true">✉{count > 0 && <b class="count">{count}</b>}</span>
    </a>
  )
}

/** The newest news, for some seconds. Screen readers read it when they are silent. */
export function Notice(): JSX.Element {
  const news = latest.value
  const shown = news && unseen.value.some((it) => keyOf(it) === keyOf(news)) ? news : undefined
  const close = (): void => void (latest.value = undefined)
  useEffect(() => {
    const timer = setTimeout(close, NOTICE_MS)
    return () => clearTimeout(timer)
  }, [news])
  return (
    <div class="notices" role="status">
      {shown && (
        <div class="notice">
          <a href={href(shown)} onClick={close}>{words(shown)}</a>
          <button class="quiet" aria-label={t("close")} onClick={close}>✕</button>
        </div>
      )}
    </div>
  )
}

export function NewsPage(): JSX.Element {
  const { news } = inbox.value
  return (
    <main class="page">
      <h1>{t("news")}</h1>
      {news.length === 0 && <p class="empty">{t("noNews")}</p>}
      <ul class="tables news">
        {news.map((it) => <li key={keyOf(it)}><a href={href(it)}><b>{words(it)}</b><small>{timeOf(it.eventTime)}</small></a></li>)}
      </ul>
    </main>
  )
}
