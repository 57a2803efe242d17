/** The table: seats, stock, cards in play, the hand, and what the player can do. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
import type { JSX, TargetedKeyboardEvent, TargetedPointerEvent } from "preact"
import { CardBack, CardFace, nameOf, SUITS } from "./cards"
import { fly, placesIn, type Places } from "./motion"
import { usesOf, type Use } from "./moves"
import { nameOfSeat, seatName, sentence } from "./narration"
import { Outcome } from "./gen/durak/v1/events_pb"
import { BotLevel } from "./gen/durak/v1/settings_pb"
import { Phase, type TableCard, type TableView } from "./gen/durak/v1/table_pb"
import { playerOf, token } from "./calls"
import { RuleSheet } from "./rules"
import { language, tone } from "./settings"
import { t, type TextId } from "./texts"
import { Table } from "./watch"

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
        <button class="quiet" onClick={() => setShowsRules(true)}>{t("rules")}</button>
      </nav>
      {!table.online.value && view?.phase !== Phase.ENDED && <p class="strip" role="status">{t("offline")}</p>}
      {view && <Felt table={table} view={view} />}
      {table.problem.value && <p class="strip problem" role="alert">{table.problem.value}</p>}
      {view && showsRules && <RuleSheet settings={view.settings!} close={() => setShowsRules(false)} />}
    </main>
  )
}

export function gameName({ settings }: Pick<TableView, "settings">): string {
  if (!settings) return ""
  const parts = [t(settings.transfer ? "perevodnoy" : "podkidnoy")]
  if (settings.tricky) parts.push(t("tricky"))
  parts.push(String(settings.deck))
  if (settings.stakeCoins) parts.push(`${settings.stakeCoins} ${t("coins")}`)
  return parts.join(" · ")
}

function Felt({ table, view }: { table: Table; view: TableView }): JSX.Element {
  const root = useRef<HTMLDivElement>(null)
  const places = useRef<Places>(new Map())
  const seen = useRef({ events: -1, version: 0 })
  const [chosen, setChosen] = useState(0)
  const events = table.events.value
  const [said, setSaid] = useState<string[]>([])
  useLayoutEffect(() => {
    const first = seen.current.events < 0
    const news = first ? [] : events.slice(seen.current.events)
    if (!first) fly(root.current!, places.current, news)
    places.current = placesIn(root.current!)
    if (seen.current.version === view.version) return
    const words = (first ? events.slice(-1) : news).map((it) => sentence(view, it)).filter(Boolean)
    if (words.length) setSaid(words.slice(-4))
    if (news.length) tone(view.onClock.includes(view.yourSeat ?? -1) ? 660 : 440)
    seen.current = { events: events.length, version: view.version }
    setChosen(0)
  }, [view.version])

  const uses = chosen ? usesOf(view, chosen) : []
  const play = (use: Use): void => {
    setChosen(0)
    void table.play(use.move)
  }
  const tap = (card: number, beats?: number): void => {
    const all = usesOf(view, card)
    const fitting = beats ? all.filter((it) => it.beats === beats) : all
    const legal = fitting.filter((it) => it.legal)
    if (legal.length === 1 && fitting.length === legal.length) play(legal[0]!)
    else if (beats && fitting[0]) play(fitting[0])
    else if (fitting.length === 1) play(fitting[0]!)
    else setChosen(fitting.length && chosen !== card ? card : 0)
  }
  useKeys(table, view, () => setChosen(0))
  const others = around(view)
  return (
    <div class="felt" ref={root}>
      <section class={`seats count-${others.length}`} aria-label={t("players")}>
        {others.map((seat) => <Seat key={seat} table={table} view={view} seat={seat} />)}
      </section>
      <section class="middle">
        <Stock view={view} />
        <ul class="bout" aria-label={t("onTable")} data-drop="table">
          {view.table.map((it) => (
            <Pair key={it.attackCard} view={view} pair={it} table={table}
              use={uses.find((use) => use.beats === it.attackCard)} play={play} />
          ))}
        </ul>
        <div class="pile" data-place="discard" role="img" aria-label={`${t("discard")}: ${view.discardCount}`}>
          {view.discardCount > 0 && <><CardBack /><b>{view.discardCount}</b></>}
        </div>
      </section>
      <p class="said" aria-live="polite">{said.map((it, at) => <span key={at}>{it} </span>)}</p>
      <Lead table={table} view={view} uses={uses} play={play} />
      {view.yourSeat !== undefined && <Seat table={table} view={view} seat={view.yourSeat} />}
      {view.hand.length > 0 && <Hand view={view} chosen={chosen} tap={tap} />}
    </div>
  )
}

/** The other seats, clockwise from the one after ours. */
function around({ seats, yourSeat }: TableView): number[] {
  const start = yourSeat ?? -1
  const all = seats.map((_, at) => (start + 1 + at) % seats.length)
  return yourSeat === undefined ? all : all.slice(0, -1)
}

/** T takes, P passes, Escape drops the choice. The cards are buttons: Tab, arrows and Enter play them. */
function useKeys(table: Table, view: TableView, drop: () => void): void {
  useEffect(() => {
    const until = new AbortController()
    const onKey = (event: KeyboardEvent): void => {
      if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return
      if (event.code === "KeyT" && view.moves?.canTake) void table.play({ case: "take", value: {} })
      if (event.code === "KeyP" && view.moves?.canPass) void table.play({ case: "pass", value: {} })
      if (event.key === "Escape") drop()
    }
    addEventListener("keydown", onKey, { signal: until.signal })
    return () => until.abort()
  }, [view.version])
}

function Seat({ table, view, seat }: { table: Table; view: TableView; seat: number }): JSX.Element {
  const it = view.seats[seat]!
  const active = view.onClock.includes(seat)
  const state = stateOf(view, seat)
  const mine = seat === view.yourSeat
  return (
    <div class={`seat ${active ? "active" : ""} ${mine ? "mine" : ""} ${it.taken ? "" : "free"}`} data-place={`seat-${seat}`}>
      {!mine && <Fan count={it.cardCount} />}
      <div class="plate">
        <b>{mine ? `${it.displayName}` : nameOfSeat(it)}</b>
        <span class="role">{state}</span>
        {!mine && it.cardCount > 0 && <span class="count" aria-label={`${it.cardCount}`}>{it.cardCount}</span>}
        {active && view.phase === Phase.PLAYING && <Clock table={table} view={view} />}
      </div>
    </div>
  )
}

function stateOf(view: TableView, seat: number): string {
  const it = view.seats[seat]!
  if (it.place !== undefined) return t("outPlace", it.place)
  if (it.passed) return t("passed")
  if (seat === view.defender) return t(view.taking ? "takes" : "defends")
  if (seat === view.attacker) return t("attacks")
  const level = ({ [BotLevel.EASY]: "easy", [BotLevel.NORMAL]: "normal", [BotLevel.HARD]: "hard" } as Record<number, TextId>)[it.botLevel]
  return level && view.phase === Phase.WAITING ? t(level) : ""
}

function Fan({ count }: { count: number }): JSX.Element {
  const shown = Math.min(count, 8)
  return (
    <div class="fan" aria-hidden="true">
      {Array.from({ length: shown }, (_, at) => (
        <span key={at} style={{ transform: `rotate(${(at - (shown - 1) / 2) * 7}deg)` }}><CardBack /></span>
      ))}
    </div>
  )
}

function Clock({ table, view }: { table: Table; view: TableView }): JSX.Element | null {
  const [left, setLeft] = useState(table.secondsLeft())
  useEffect(() => {
    setLeft(table.secondsLeft())
    const timer = setInterval(() => setLeft(table.secondsLeft()), 250)
    return () => clearInterval(timer)
  }, [view.version])
  const whole = view.settings?.turnTimerSeconds
  if (!whole || left === undefined) return null
  return (
    <span class={`clock ${left < 6 ? "late" : ""}`} role="timer" style={{ "--left": Math.min(1, left / whole) }}>
      {Math.ceil(left)}
    </span>
  )
}

function Stock({ view }: { view: TableView }): JSX.Element {
  const label = `${t("stock")}: ${view.stockCount}. ${t("trump")}: ${view.trumpCard ? nameOf(view.trumpCard, language.value) : ""}`
  return (
    <div class="stock" data-place="stock" role="img" aria-label={label}>
      {view.trumpCard > 0 && view.stockCount > 0 && <span class="trump"><CardFace card={view.trumpCard} language={language.value} /></span>}
      {view.stockCount > 1 && <span class="top"><CardBack /></span>}
      {view.trumpSuit > 0 && view.stockCount === 0 && <span class={`suit suit-${view.trumpSuit - 1}`}>{SUITS[view.trumpSuit - 1]}</span>}
      {view.stockCount > 0 && <b>{view.stockCount} <i class={`suit-${view.trumpSuit - 1}`}>{SUITS[view.trumpSuit - 1]}</i></b>}
    </div>
  )
}

interface PairProps {
  view: TableView
  pair: TableCard
  table: Table
  use: Use | undefined
  play: (use: Use) => void
}

function Pair({ view, pair, table, use, play }: PairProps): JSX.Element {
  const can = view.moves?.challenge ?? []
  const versions = [pair.attackVersion, ...(pair.defence ? [pair.defence.version] : [])].filter((it) => can.includes(it))
  const cards = [pair.attackCard, ...(pair.defence ? [pair.defence.card] : [])]
  return (
    <li class={`pair ${use ? "target" : ""}`} data-drop={pair.defence ? undefined : pair.attackCard}>
      {cards.map((card, at) => (
        <span key={card} class={at ? "over" : "under"} data-card={card} role="img" aria-label={nameOf(card, language.value)}>
          <CardFace card={card} language={language.value} />
        </span>
      ))}
      {use && <button class="hit" onClick={() => play(use)} aria-label={nameOf(pair.attackCard, language.value)} />}
      {!use && versions.map((playVersion) => {
        const card = playVersion === pair.attackVersion ? pair.attackCard : (pair.defence?.card ?? 0)
        return (
          <button key={playVersion} class={`doubt ${playVersion === pair.attackVersion ? "" : "second"}`}
            title={t("challenge")} onClick={() => void table.play({ case: "challenge", value: { playVersion } })}>
            <span aria-hidden="true">?!</span><span class="unseen">{t("challenge")}: {nameOf(card, language.value)}</span>
          </button>
        )
      })}
    </li>
  )
}

function Hand({ view, chosen, tap }: { view: TableView; chosen: number; tap: (card: number, beats?: number) => void }): JSX.Element {
  const trump = view.trumpSuit - 1
  const order = (card: number): number => (Math.floor((card - 1) / 13) === trump ? 100 : 0) + ((card - 1) % 13)
  const hand = [...view.hand].sort((a, b) => order(a) - order(b) || a - b)
  return (
    <div class="hand" role="group" aria-label={t("hand")} style={{ "--cards": hand.length }} onKeyDown={moveFocus}>
      {hand.map((card) => {
        const uses = usesOf(view, card)
        const lit = uses.some((it) => it.legal)
        return (
          <button key={card} class={`in-hand ${lit ? "lit" : ""} ${chosen === card ? "chosen" : ""}`} data-card={card}
            aria-disabled={uses.length === 0} aria-pressed={chosen === card}
            onClick={() => tap(card)} onPointerDown={(event) => drag(event, (beats) => tap(card, beats))}>
            <CardFace card={card} language={language.value} />
            <span class="unseen">{nameOf(card, language.value)}</span>
          </button>
        )
      })}
    </div>
  )
}

function moveFocus(event: TargetedKeyboardEvent<HTMLDivElement>): void {
  const step = event.key === "ArrowRight" ? "nextElementSibling" : event.key === "ArrowLeft" ? "previousElementSibling" : undefined
  const next = step && document.activeElement?.[step]
  if (next instanceof HTMLElement) next.focus()
}

/** Drag a card: it follows the pointer, and counts when it is dropped on the table or on the card that it beats. */
function drag(down: TargetedPointerEvent<HTMLButtonElement>, drop: (beats?: number) => void): void {
  const card = down.currentTarget
  const until = new AbortController()
  let far = false
  card.setPointerCapture(down.pointerId)
  card.addEventListener("pointermove", (event) => {
    const [x, y] = [event.clientX - down.clientX, event.clientY - down.clientY]
    far ||= Math.hypot(x, y) > 12
    if (far) card.style.cssText = `transform: translate(${x}px, ${y}px); z-index: 9; transition: none; pointer-events: none`
  }, { signal: until.signal })
  const end = (event: PointerEvent): void => {
    until.abort()
    const under = document.elementsFromPoint(event.clientX, event.clientY)
    card.style.cssText = ""
    if (!far || event.type === "pointercancel") return
    // The click that follows a drag must not play the card again.
    card.addEventListener("click", (click) => click.stopImmediatePropagation(), { capture: true, once: true })
    const goal = under.map((it) => it.closest<HTMLElement>("[data-drop]")?.dataset.drop).find(Boolean)
    if (goal) drop(Number(goal) || undefined)
  }
  card.addEventListener("pointerup", end, { signal: until.signal })
  card.addEventListener("pointercancel", end, { signal: until.signal })
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
  const shares = result?.results.filter((it) => it.shareCoins > 0n) ?? []
  return (
    <div class="lead ending" role="status">
      <h2>{endingOf(view)}</h2>
      {shares.length > 0 && <p>{shares.map((it) => `${seatName(view, it.seat)} +${it.shareCoins}`).join(" · ")}</p>}
      {fair && <p class={`fair ${fair}`}>{t(fair === "own" ? "fairOwn" : fair === "server" ? "fairServer" : "fairWrong")}</p>}
      <div>
        {view.yourSeat !== undefined && result?.outcome !== Outcome.CANCELLED && (
          <button class="primary" onClick={() => void rematch()}>{t("rematch")}</button>
        )}
        <a class="button" href="#/">{t("back")}</a>
      </div>
    </div>
  )
}

function endingOf(view: TableView): string {
  const result = view.result
  if (!result || result.outcome === Outcome.CANCELLED) return t("cancelled")
  if (result.outcome === Outcome.DRAW) return t("draw")
  if (result.leaver !== undefined) return t("abandoned", seatName(view, result.leaver))
  if (result.durak === view.yourSeat && result.durak !== undefined) return t("youDurak")
  return view.yourSeat === undefined ? t("durakIs", seatName(view, result.durak ?? 0)) : t("youWon")
}
