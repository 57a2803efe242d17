/** The start of the client: the sign-in, and the frame around all pages. */
import { render, type JSX } from "preact"
import { useEffect, useState } from "preact/hooks"
import { address } from "./address"
import { expired, playerOf, token, wallet } from "./calls"
import { DisputePage, Disputes } from "./disputes"
import { inbox } from "./feed"
import { Lobby } from "./lobby"
import { Bell, NewsPage, Notice } from "./news"
import { Coins, Practice, Ratings, SettingsPage } from "./pages"
import { ReplayPage } from "./replay"
import { SignIn, startSession } from "./sign-in"
import { TablePage } from "./table"
import { t } from "./texts"
import "./style.css"

function bytesOf(base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64), (it) => it.charCodeAt(0))
  } catch {
    return new Uint8Array()
  }
}

function Page(): JSX.Element {
  const match = /^#\/match\/([0-9a-f-]{36})(?:\?k=(.+))?$/i.exec(address.value)
  const replay = /^#\/match\/([0-9a-f-]{36})\/replay(?:\?at=(\d+))?$/i.exec(address.value)
  const dispute = /^#\/dispute\/([0-9a-f-]{36})$/i.exec(address.value)
  if (replay) return <ReplayPage key={replay[1]!} matchId={replay[1]!} at={Number(replay[2] ?? 0)} />
  if (dispute) return <DisputePage id={dispute[1]!} />
  if (address.value === "#/disputes") return <Disputes />
  if (match) return <TablePage key={match[1]!} matchId={match[1]!} secret={bytesOf(match[2] ?? "")} />
  if (address.value === "#/practice") return <Practice />
  if (address.value === "#/ratings") return <Ratings />
  if (address.value === "#/coins") return <Coins />
  if (address.value === "#/news") return <NewsPage />
  if (address.value === "#/settings") return <SettingsPage />
  return <Lobby />
}

function Purse(): JSX.Element | null {
  const [coins, setCoins] = useState<bigint>()
  const moved = inbox.value.news.find((it) => it.kind.case === "coinsMoved")
  useEffect(() => {
    wallet.getBalance({}).then((it) => setCoins(it.balance?.availableCoins), () => setCoins(undefined))
  }, [address.value, token.value, moved])
  return coins === undefined ? null : <a class="coins" href="#/coins">◉ {String(coins)} {t("coins")}</a>
}

function App(): JSX.Element {
  const player = playerOf(token.value)
  const open = address.value === "#/practice" || address.value === "#/settings"
  const inMatch = address.value.startsWith("#/match/")
  const link = (to: string, text: string): JSX.Element => (
    <a href={to} aria-current={(address.value || "#/") === to ? "page" : undefined}>{text}</a>
  )
  return (
    <>
      {!inMatch && (
        <header>
          <a class="logo" href="#/">♠ {t("title")}</a>
          <nav>{link("#/", t("tables"))}{link("#/practice", t("practice"))}{link("#/ratings", t("ratings"))}{link("#/disputes", t("disputes"))}{link("#/settings", t("settings"))}</nav>
          {player && <span class="who">{player.name} {player.roles.includes("player") && <Purse />}</span>}
          {player?.roles.includes("player") && <Bell />}
        </header>
      )}
      {player?.roles.includes("player") && <Notice />}
      {player || open ? <Page /> : <main class="page"><SignIn /></main>}
      {player && expired.value && <div class="overlay" role="dialog" aria-modal="true" aria-label={t("signIn")}><SignIn /></div>}
    </>
  )
}

void startSession().then(() => render(<App />, document.getElementById("app")!))
