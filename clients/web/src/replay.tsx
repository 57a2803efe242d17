/** A match from its first event to its newest: any moment again, the review of the endgame, and complaints. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import type { JSX } from "preact"
import { Felt } from "./felt"
import { momentsOf, type Moment } from "./fold"
import { gameName, moveWords, sentence } from "./narration"
import type { Event } from "./gen/durak/v1/events_pb"
import { ReviewVerdict, type ReviewedMove } from "./gen/durak/v1/match_service_pb"
import { Phase } from "./gen/durak/v1/table_pb"
import { matches, playerOf, token } from "./calls"
import { Complain } from "./disputes"
import { openCards } from "./fairness"
import { useRead } from "./reading"
import { t, type TextId } from "./texts"

const STEP_MS = 1_100
/** Browsers refuse an address that changes too often. */
const ADDRESS_MS = 400

interface History {
  events: Event[]
  /** The same events with all cards. Not there: the match runs, or its seeds do not give the cards that we saw. */
  open?: Event[] | undefined
  seat?: number | undefined
}

async function historyOf(matchId: string): Promise<History> {
  const events: Event[] = []
  for await (const { kind } of matches.watchMatch({ matchId })) {
    if (kind.case === "event" && kind.value.event) events.push(kind.value.event)
    if (kind.case === "caughtUp") break
  }
  return { events, open: await openCards(matchId, events), seat: ownSeat(events) }
}

function ownSeat(events: Event[]): number | undefined {
  const player = playerOf(token.value)?.id
  let seat: number | undefined
  for (const { kind } of events) {
    if (kind.case === "seatTaken" && kind.value.playerId === player) seat = kind.value.seat
    if (kind.case === "seatVacated" && kind.value.seat === seat) seat = undefined
  }
  return seat
}

export function ReplayPage({ matchId, at }: { matchId: string; at: number }): JSX.Element {
  const { found, problem } = useRead(() => historyOf(matchId), [matchId, token.value])
  return (
    <main class="table-page">
      {problem && <p class="strip problem" role="alert">{problem}</p>}
      {found && <Replay matchId={matchId} history={found} first={at} />}
    </main>
  )
}

function Replay({ matchId, history, first }: { matchId: string; history: History; first: number }): JSX.Element {
  const last = history.events.length
  const [at, setAt] = useState(first >= 1 && first <= last ? first : last)
  const [plays, setPlays] = useState(false)
  const [isOpen, setOpen] = useState(false)
  const [lists, setLists] = useState(false)
  const [complains, setComplains] = useState(false)
  const events = isOpen && history.open ? history.open : history.events
  const moments = useMemo(() => momentsOf(matchId, events, history.seat), [events])
  const stops = useMemo(() => stopsOf(moments, history.events), [moments])
  const go = (to: number | undefined): void => void (to && setAt(to))
  const onward = stops.find((it) => it > at)
  const back = stops.findLast((it) => it < at)
  useEffect(() => {
    const timer = setTimeout(() => keepAddress(matchId, at), ADDRESS_MS)
    return () => clearTimeout(timer)
  }, [at])
  useEffect(() => {
    if (plays && onward === undefined) setPlays(false)
    const timer = plays ? setTimeout(() => go(onward), STEP_MS) : undefined
    return () => clearTimeout(timer)
  }, [plays, at])
  useEffect(() => {
    const until = new AbortController()
    addEventListener("keydown", ({ key, target }) => {
      if (target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement) return
      if (key === "ArrowRight") go(onward)
      if (key === "ArrowLeft") go(back)
    }, { signal: until.signal })
    return () => until.abort()
  }, [at, stops])
  const { view, hands } = moments[at - 1]!
  const said = sentence(view, history.events[at - 1]!)
  const isDealt = view.trumpCard > 0
  return (
    <>
      <nav class="table-bar">
        <a class="quiet" href={view.phase === Phase.ENDED || last > at ? "#/" : `#/match/${matchId}`}>← {t("back")}</a>
        <h1 class="game">{t("replay")} · {gameName(view)}</h1>
        <button class="quiet" onClick={() => setLists(true)}>{t("moves")}</button>
      </nav>
      <Felt view={view} events={history.events.slice(0, at)} {...(isOpen ? { hands } : {})} lead={() => (
        <div class="lead replay">
          <div class="steps">
            <Step name="toStart" icon="M5 4h3v16H5zM20 4v16L8 12z" to={at === stops[0] ? undefined : stops[0]} go={go} />
            <Step name="stepBack" icon="M17 4v16L5 12z" to={back} go={go} />
            <button aria-label={t(plays ? "pause" : "playOn")} aria-pressed={plays} onClick={() => setPlays(!plays)}>
              <Icon path={plays ? "M6 4h4v16H6zM14 4h4v16h-4z" : "M4 3h3v18H4zM9 4v16l12-8z"} />
            </button>
            <Step name="stepOn" icon="M7 4v16l12-8z" to={onward} go={go} />
            <Step name="toEnd" icon="M16 4h3v16h-3zM4 4v16l12-8z" to={at === last ? undefined : last} go={go} />
          </div>
          <input type="range" min="1" max={last} value={at} aria-label={t("moment")} aria-valuetext={`${at} / ${last}: ${said}`}
            onInput={(it) => go(Number(it.currentTarget.value))} />
          <div class="steps">
            {history.open && <label class="tick"><input type="checkbox" checked={isOpen} onChange={() => setOpen(!isOpen)} /> {t("openHands")}</label>}
            {history.seat !== undefined && isDealt && <button class="quiet" onClick={() => setComplains(true)}>{t("complain")}</button>}
          </div>
        </div>
      )} />
      {lists && <Moves matchId={matchId} moments={moments} events={history.events} at={at} go={go} close={() => setLists(false)} />}
      {complains && <Complain matchId={matchId} version={at} event={said} staked={(view.settings?.stakeCoins ?? 0n) > 0n && last === at} close={() => setComplains(false)} />}
    </>
  )
}

function Icon({ path }: { path: string }): JSX.Element {
  return <svg width="20" height="20" viewBox="0 0 24 24" fill="currentColor" aria-hidden="true"><path d={path} /></svg>
}

interface StepProps {
  name: TextId
  icon: string
  /** Undefined: there is no such moment. */
  to: number | undefined
  go: (version: number) => void
}

function Step({ name, icon, to, go }: StepProps): JSX.Element {
  return <button aria-label={t(name)} disabled={to === undefined} onClick={() => to && go(to)}><Icon path={icon} /></button>
}

function keepAddress(matchId: string, at: number): void {
  const address = `#/match/${matchId}/replay?at=${at}`
  if (location.hash.startsWith(`#/match/${matchId}/replay`)) history.replaceState(null, "", address)
}

/** The moments worth a stop: those that a sentence tells, and the end. */
function stopsOf(moments: Moment[], events: Event[]): number[] {
  const versions = events.map((_, at) => at + 1)
  return versions.filter((it) => it === events.length || sentence(moments[it - 1]!.view, events[it - 1]!))
}

interface MovesProps {
  matchId: string
  moments: Moment[]
  events: Event[]
  at: number
  go: (version: number) => void
  close: () => void
}

/** All moves in words. The service says which ones of the endgame gave a better result away. */
function Moves({ matchId, moments, events, at, go, close }: MovesProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  const ended = moments.at(-1)!.view.phase === Phase.ENDED
  const { found, problem } = useRead(async () => (ended ? (await matches.reviewMatch({ matchId })).moves : []), [matchId])
  const reviewed = new Map(found?.map((it) => [it.version, it]))
  return (
    <dialog ref={dialog} class="sheet" onClose={close} aria-label={t("moves")}>
      <button class="primary close" onClick={close}>{t("close")}</button>
      <h1>{t("moves")}</h1>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {ended && <p><small>{t(found || problem ? "reviewed" : "reviewing")}</small></p>}
      <ol class="moves">
        {stopsOf(moments, events).map((it) => (
          <li key={it}>
            <button class="row-button" aria-current={it === at} onClick={() => { go(it); close() }}>
              <span><small>{it}</small> {sentence(moments[it - 1]!.view, events[it - 1]!) || t("theEnd")}</span>
              <Judgement move={reviewed.get(it)} />
            </button>
          </li>
        ))}
      </ol>
    </dialog>
  )
}

function Judgement({ move }: { move: ReviewedMove | undefined }): JSX.Element | null {
  if (move?.verdict === ReviewVerdict.KEPT) return <span class="kept">✓ <span class="unseen">{t("kept")}</span></span>
  if (move?.verdict !== ReviewVerdict.GAVE_AWAY) return null
  const better = move.better.case === "betterMove" ? moveWords(move.better.value) : t("waitFirst")
  return <span class="gave-away">✗ {t("better", better)}</span>
}
