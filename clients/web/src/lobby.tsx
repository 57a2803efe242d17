/** The lobby: tables to join, watch and open. */
import { useEffect, useState } from "preact/hooks"
import type { JSX } from "preact"
import { BotLevel, Deck, ThrowIn } from "./gen/durak/v1/settings_pb"
import type { MatchSummary } from "./gen/durak/v1/match_service_pb"
import { Phase } from "./gen/durak/v1/table_pb"
import { answered, matches, noteToken, playerOf, requestId, textOf, token } from "./calls"
import { promise } from "./fairness"
import { nameOfSeat } from "./narration"
import { OpenTable } from "./opening"
import { gameName } from "./table"
import { t } from "./texts"

const REFRESH_MS = 3_000
type Tab = "waiting" | "playing" | "mine"
const GAMES = ["anyGame", "podkidnoy", "perevodnoy", "tricky", "staked"] as const
type Game = (typeof GAMES)[number]

function fits({ settings }: MatchSummary, game: Game): boolean {
  if (game === "podkidnoy") return !settings?.transfer
  if (game === "perevodnoy") return settings?.transfer === true
  if (game === "tricky") return settings?.tricky === true
  return game !== "staked" || (settings?.stakeCoins ?? 0n) > 0n
}

export function Lobby(): JSX.Element {
  const [tab, setTab] = useState<Tab>("waiting")
  const [game, setGame] = useState<Game>("anyGame")
  const [found, setFound] = useState<MatchSummary[]>()
  const [problem, setProblem] = useState("")
  const [opens, setOpens] = useState(false)
  const caller = playerOf(token.value)
  const player = caller?.id ?? ""
  useEffect(() => {
    const until = new AbortController()
    const read = async (): Promise<void> => {
      if (document.hidden) return
      const phase = tab === "waiting" ? Phase.WAITING : tab === "playing" ? Phase.PLAYING : Phase.UNSPECIFIED
      try {
        const page = await matches.listMatches({ phase, mine: tab === "mine", pageSize: 50 }, { signal: until.signal })
        setFound(page.matches.filter((it) => it.reservedFor.length === 0 || it.reservedFor.includes(player)))
        setProblem("")
      } catch (error) {
        if (until.signal.aborted) return
        noteToken(error)
        setProblem(textOf(error))
      }
    }
    void read()
    const timer = setInterval(() => void read(), REFRESH_MS)
    return () => {
      until.abort()
      clearInterval(timer)
    }
  }, [tab, token.value])
  const quick = async (): Promise<void> => {
    try {
      const settings = { deck: Deck.DECK_36, seats: 4, throwIn: ThrowIn.ALL, drawAllowed: true, turnTimerSeconds: 60 }
      const opening = { requestId: requestId(), settings }
      const { view } = await answered(() => matches.openTable(opening))
      const matchId = view!.matchId
      const seat = { matchId, requestId: requestId(), clientSeedHash: await promise(matchId, player) }
      await answered(() => matches.takeSeat(seat))
      for (let bot = 1; bot < settings.seats; bot++) {
        const request = { matchId, requestId: requestId(), level: BotLevel.NORMAL }
        await answered(() => matches.seatBot(request))
      }
      location.hash = `#/match/${matchId}`
    } catch (error) {
      setProblem(textOf(error))
    }
  }
  const shown = found?.filter((it) => fits(it, game))
  return (
    <main class="page">
      <div class="hero">
        <h1>{t("tables")}</h1>
        {caller?.roles.includes("player") && (
          <>
            <button class="primary" onClick={() => void quick()}>{t("quick")}</button>
            <button onClick={() => setOpens(true)}>{t("openTable")}</button>
          </>
        )}
      </div>
      <div class="filters">
        <div role="group" aria-label={t("tables")} class="tabs">
          {(["waiting", "playing", "mine"] as const).map((it) => (
            <button key={it} aria-pressed={tab === it} onClick={() => setTab(it)}>{t(it)}</button>
          ))}
        </div>
        <select aria-label={t("game")} value={game} onChange={(it) => setGame(it.currentTarget.value as Game)}>
          {GAMES.map((it) => <option key={it} value={it}>{t(it)}</option>)}
        </select>
      </div>
      {problem && <p class="strip problem" role="alert">{problem}</p>}
      {shown?.length === 0 && <p class="empty">{t("noTables")}</p>}
      <ul class="tables">
        {shown?.map((it) => (
          <li key={it.matchId}>
            <a href={`#/match/${it.matchId}`}>
              <b>{gameName(it)}</b>
              <span class="names">{it.seats.map((seat) => <span class={seat.taken ? "taken" : ""} key={seat.seat}>{nameOfSeat(seat)}</span>)}</span>
              <span class="go">{t(it.phase === Phase.WAITING ? "sit" : "watch")} →</span>
            </a>
          </li>
        ))}
      </ul>
      {opens && <OpenTable close={() => setOpens(false)} />}
    </main>
  )
}
