/** The page of a table: what the player can do before, in and after a match. */
import { useEffect, useMemo, useState } from "preact/hooks"
import type { JSX } from "preact"
import { inbox } from "./feed"
import { Felt } from "./felt"
import { offerOf } from "./inbox"
import type { Use } from "./moves"
import { Bell } from "./news"
import { gameName, nameOfSeat, seatName } from "./narration"
import { useRead } from "./reading"
import { Outcome } from "./gen/durak/v1/events_pb"
import { BotLevel } from "./gen/durak/v1/settings_pb"
import { Phase, type TableView } from "./gen/durak/v1/table_pb"
import { playerOf, standings, token } from "./calls"
import { RuleSheet } from "./rules"
import { t } from "./texts"
import { Table } from "./watch"

const COUNTED_MS = 3_500

export function TablePage({ matchId, secret }: { matchId: string; secret: Uint8Array }): JSX.Element {
  const table = useMemo(() => new Table(matchId, secret), [matchId])
  useEffect(() => () => table.close(), [table])
  const view = table.view.value
  const [showsRules, setShowsRules] = useState(false)
  return (
    <main class="table-page">
      <nav class="table-bar">
        <a class="quiet" href="#/">← {t("back")}</a>
        <h1 class="game">{view ? gameName(view) : t("title")}</h1>
        <Bell />
        <button class="quiet" onClick={() => setShowsRules(true)}>{t("rules")}</button>
      </nav>
      {!table.online && view?.phase !== Phase.ENDED && <p class="strip" role="status">{t("offline")}</p>}
      {view && (
        <Felt view={view} events={table.events.value} live={table}
          lead={(uses, play) => <Lead table={table} view={view} uses={uses} play={play} />} />
      )}
      {table.problem.value && <p class="strip problem" role="alert">{table.problem.value}</p>}
      {view && showsRules && <RuleSheet settings={view.settings!} close={() => setShowsRules(false)} />}
    </main>
  )
}

interface LeadProps {
  table: Table
  view: TableView
  uses: Use[]
  play: (use: Use) => void
}

/** Whose turn it is, and the buttons of this moment. */
function Lead({ table, view, uses, play }: LeadProps): JSX.Element {
  if (view.phase === Phase.WAITING) return <Waiting table={table} view={view} />
  if (view.phase === Phase.REVEALING) return <p class="lead">{t("revealing")}</p>
  if (view.phase === Phase.ENDED) return <Ending table={table} view={view} />
  const free = uses.filter((it) => it.beats === undefined)
  const mine = view.yourSeat !== undefined && view.onClock.includes(view.yourSeat)
  const everybody = view.onClock.map((it) => seatName(view, it)).join(", ")
  const turn = mine ? t(view.yourSeat === view.defender ? "yourDefence" : view.table.length ? "yourThrow" : "yourLead") : t("waitFor", everybody)
  return (
    <div class={`lead ${mine ? "my-turn" : ""}`}>
      <span class="turn">{uses.some((it) => it.beats) ? t("chooseTarget") : turn}</span>
      {free.map((it) => (
        <button key={it.move.case} onClick={() => play(it)}>{t(it.move.case === "transfer" ? "transfer" : "throwIn")}</button>
      ))}
      {view.moves?.canTake && <button class="primary" onClick={() => void table.play({ case: "take", value: {} })}>{t("take")}</button>}
      {view.moves?.canPass && <button class="primary" onClick={() => void table.play({ case: "pass", value: {} })}>{t(view.taking ? "pass" : "done")}</button>}
      {view.yourSeat !== undefined && view.seats[view.yourSeat]?.place === undefined && (
        <button class="quiet leave" onClick={() => confirm(t("leaveSure")) && void table.leave()}>{t("leave")}</button>
      )}
    </div>
  )
}

function Waiting({ table, view }: { table: Table; view: TableView }): JSX.Element {
  const [level, setLevel] = useState(BotLevel.NORMAL)
  const [copied, setCopied] = useState(false)
  const owner = playerOf(token.value)?.id === view.ownerId
  const seated = view.yourSeat !== undefined
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(location.href)
    setCopied(true)
  }
  return (
    <div class="lead waiting">
      <span class="turn">{t("waitSeats")}</span>
      {!seated && <button class="primary" onClick={() => void table.sit()}>{t("sit")}</button>}
      {owner && !view.settings?.stakeCoins && (
        <span class="joined">
          <select aria-label={t("bot")} value={level} onChange={(it) => setLevel(Number(it.currentTarget.value))}>
            <option value={BotLevel.EASY}>{t("easy")}</option>
            <option value={BotLevel.NORMAL}>{t("normal")}</option>
            <option value={BotLevel.HARD}>{t("hard")}</option>
          </select>
          <button onClick={() => void table.seatBot(level)}>{t("addBot")}</button>
        </span>
      )}
      {owner && view.seats.filter((it) => it.playerId && it.playerId !== view.ownerId).map((it) => (
        <button key={it.seat} class="quiet" onClick={() => void table.remove(it.playerId)}>{t("remove", it.displayName)}</button>
      ))}
      <button onClick={() => void copy()}>{t(copied ? "copied" : "share")}</button>
      {seated && <button class="quiet" onClick={() => void table.leave()}>{t("leave")}</button>}
      {owner && <button class="quiet" onClick={() => void table.cancel()}>{t("closeTable")}</button>}
    </div>
  )
}

function Ending({ table, view }: { table: Table; view: TableView }): JSX.Element {
  const result = view.result
  const fair = table.fairness.value
  const rematch = async (): Promise<void> => {
    const id = await table.rematch()
    if (id) location.hash = `#/match/${id}`
  }
  const offered = offerOf(inbox.value, view.matchId) !== undefined
  const shares = result?.results.filter((it) => it.shareCoins > 0n) ?? []
  return (
    <div class="lead ending" role="status">
      <h2>{endingOf(view)}</h2>
      {shares.length > 0 && <p>{shares.map((it) => `${seatName(view, it.seat)} +${it.shareCoins}`).join(" · ")}</p>}
      {view.settings?.seriesId && <Series id={view.settings.seriesId} />}
      {fair && <p class={`fair ${fair}`}>{t(fair === "own" ? "fairOwn" : fair === "server" ? "fairServer" : "fairWrong")}</p>}
      <div>
        {view.yourSeat !== undefined && result?.outcome !== Outcome.CANCELLED && (
          <button class="primary" onClick={() => void rematch()}>{t(offered ? "acceptRematch" : "rematch")}</button>
        )}
        {view.trumpCard > 0 && <a class="button" href={`#/match/${view.matchId}/replay`}>{t("replay")}</a>}
        <a class="button" href="#/">{t("back")}</a>
      </div>
    </div>
  )
}

/** The score of a series. A match counts about two seconds after its end. */
function Series({ id }: { id: string }): JSX.Element | null {
  const [reads, setReads] = useState(0)
  const { found } = useRead(() => standings.getSeries({ seriesId: id }), [id, reads])
  useEffect(() => {
    const timer = setTimeout(() => setReads(1), COUNTED_MS)
    return () => clearTimeout(timer)
  }, [])
  if (!found?.matches) return null
  const score = found.seats.map((it) => `${nameOfSeat({ ...it, taken: true })} ${it.wins}`)
  return <p class="series">{t("series")}: {[...score, ...(found.draws ? [t("draws", found.draws)] : [])].join(" · ")}</p>
}

function endingOf(view: TableView): string {
  const result = view.result
  if (!result || result.outcome === Outcome.CANCELLED) return t("cancelled")
  if (result.outcome === Outcome.DRAW) return t("draw")
  if (result.leaver !== undefined) return t("abandoned", seatName(view, result.leaver))
  if (result.durak === view.yourSeat && result.durak !== undefined) return t("youDurak")
  return view.yourSeat === undefined ? t("durakIs", seatName(view, result.durak ?? 0)) : t("youWon")
}
