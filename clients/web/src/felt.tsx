/** The table as it is drawn: seats, stock, cards in play and the hand, live or in a replay. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import type { JSX, TargetedKeyboardEvent, TargetedPointerEvent } from "preact"
import { CardBack, CardFace, nameOf, SUITS } from "./cards"
import { fly, placesIn, type Places } from "./motion"
import { usesOf, type MoveInit, type Use } from "./moves"
import { nameOfSeat, sentence } from "./narration"
import type { Event } from "./gen/durak/v1/events_pb"
import { BotLevel } from "./gen/durak/v1/settings_pb"
import { Phase, type TableCard, type TableView } from "./gen/durak/v1/table_pb"
import { language, tone } from "./settings"
import { t, type TextId } from "./texts"

/** What a player can do at a table. A replay has none of it. */
export interface Live {
  play: (move: MoveInit) => Promise<void>
  secondsLeft: () => number | undefined
}

interface FeltProps {
  view: TableView
  /** All events up to the view. */
  events: Event[]
  /** The known cards of each seat, where more than the own hand is known. */
  hands?: number[][]
  live?: Live
  /** What stands between the table and the own hand. */
  lead: (uses: Use[], play: (use: Use) => void) => JSX.Element
}

/** The table of one moment. New events move the cards from where they were. */
export function Felt({ view, events, hands, live, lead }: FeltProps): JSX.Element {
  const root = useRef<HTMLDivElement>(null)
  const places = useRef<Places>(new Map())
  const seen = useRef({ events: -1, version: 0 })
  const [chosen, setChosen] = useState(0)
  const [said, setSaid] = useState<string[]>([])
  useLayoutEffect(() => {
    const first = seen.current.events < 0
    const news = first ? [] : events.slice(seen.current.events)
    if (!first) fly(root.current!, places.current, news)
    places.current = placesIn(root.current!)
    if (seen.current.version === view.version) return
    const words = (news.length ? news : events.slice(-1)).map((it) => sentence(view, it)).filter(Boolean)
    if (words.length) setSaid(words.slice(-4))
    if (news.length) tone(view.onClock.includes(view.yourSeat ?? -1) ? 660 : 440)
    seen.current = { events: events.length, version: view.version }
    setChosen(0)
  }, [view.version])

  const uses = chosen && live ? usesOf(view, chosen) : []
  const play = (use: Use): void => {
    setChosen(0)
    void live?.play(use.move)
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
  useKeys(live, view, () => setChosen(0))
  const others = around(view)
  return (
    <div class="felt" ref={root}>
      <section class={`seats count-${others.length}`} aria-label={t("players")}>
        {others.map((seat) => <Seat key={seat} live={live} view={view} seat={seat} cards={hands?.[seat]} />)}
      </section>
      <section class="middle">
        <Stock view={view} />
        <ul class="bout" aria-label={t("onTable")} data-drop="table">
          {view.table.map((it) => (
            <Pair key={it.attackCard} view={view} pair={it} live={live}
              use={uses.find((use) => use.beats === it.attackCard)} play={play} />
          ))}
        </ul>
        <div class="pile" data-place="discard" role="img" aria-label={`${t("discard")}: ${view.discardCount}`}>
          {view.discardCount > 0 && <><CardBack /><b>{view.discardCount}</b></>}
        </div>
      </section>
      <p class="said" aria-live="polite">{said.map((it, at) => <span key={at}>{it} </span>)}</p>
      {lead(uses, play)}
      {view.yourSeat !== undefined && <Seat live={live} view={view} seat={view.yourSeat} />}
      {view.hand.length > 0 && <Hand view={view} live={live} chosen={chosen} tap={tap} />}
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
function useKeys(live: Live | undefined, view: TableView, drop: () => void): void {
  useEffect(() => {
    if (!live) return
    const until = new AbortController()
    const onKey = (event: KeyboardEvent): void => {
      if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return
      if (event.code === "KeyT" && view.moves?.canTake) void live.play({ case: "take", value: {} })
      if (event.code === "KeyP" && view.moves?.canPass) void live.play({ case: "pass", value: {} })
      if (event.key === "Escape") drop()
    }
    addEventListener("keydown", onKey, { signal: until.signal })
    return () => until.abort()
  }, [view.version])
}

interface SeatProps {
  view: TableView
  seat: number
  live: Live | undefined
  cards?: number[] | undefined
}

function Seat({ view, seat, live, cards }: SeatProps): JSX.Element {
  const it = view.seats[seat]!
  const active = view.onClock.includes(seat)
  const state = stateOf(view, seat)
  const mine = seat === view.yourSeat
  return (
    <div class={`seat ${active ? "active" : ""} ${mine ? "mine" : ""} ${it.taken ? "" : "free"}`} data-place={`seat-${seat}`}>
      {!mine && (cards?.some(Boolean) ? <OpenHand cards={cards} /> : <Fan count={it.cardCount} />)}
      <div class="plate">
        <b>{mine ? `${it.displayName}` : nameOfSeat(it)}</b>
        <span class="role">{state}</span>
        {!mine && it.cardCount > 0 && <span class="count" aria-label={`${it.cardCount}`}>{it.cardCount}</span>}
        {active && live && view.phase === Phase.PLAYING && <Clock live={live} view={view} />}
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

function OpenHand({ cards }: { cards: number[] }): JSX.Element {
  const label = cards.map((it) => nameOf(it, language.value)).join(" ")
  return (
    <div class="open-hand" role="img" aria-label={label}>
      {cards.map((it, at) => <span key={it || `hidden ${at}`} data-card={it || undefined}><CardFace card={it} language={language.value} /></span>)}
    </div>
  )
}

function Clock({ live, view }: { live: Live; view: TableView }): JSX.Element | null {
  const [left, setLeft] = useState(live.secondsLeft())
  useEffect(() => {
    setLeft(live.secondsLeft())
    const timer = setInterval(() => setLeft(live.secondsLeft()), 250)
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
  live: Live | undefined
  use: Use | undefined
  play: (use: Use) => void
}

function Pair({ view, pair, live, use, play }: PairProps): JSX.Element {
  const can = (live && view.moves?.challenge) ?? []
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
            title={t("challenge")} onClick={() => void live?.play({ case: "challenge", value: { playVersion } })}>
            <span aria-hidden="true">?!</span><span class="unseen">{t("challenge")}: {nameOf(card, language.value)}</span>
          </button>
        )
      })}
    </li>
  )
}

interface HandProps {
  view: TableView
  live: Live | undefined
  chosen: number
  tap: (card: number, beats?: number) => void
}

function Hand({ view, live, chosen, tap }: HandProps): JSX.Element {
  const trump = view.trumpSuit - 1
  const order = (card: number): number => (Math.floor((card - 1) / 13) === trump ? 100 : 0) + ((card - 1) % 13)
  const hand = [...view.hand].sort((a, b) => order(a) - order(b) || a - b)
  return (
    <div class={`hand ${live ? "" : "still"}`} role="group" aria-label={t("hand")} style={{ "--cards": hand.length }} onKeyDown={moveFocus}>
      {hand.map((card) => {
        const uses = live ? usesOf(view, card) : []
        const lit = uses.some((it) => it.legal)
        return (
          <button key={card} class={`in-hand ${lit ? "lit" : ""} ${chosen === card ? "chosen" : ""}`} data-card={card}
            aria-disabled={uses.length === 0} tabIndex={live ? 0 : -1} aria-pressed={chosen === card}
            onClick={() => tap(card)} onPointerDown={(event) => live && drag(event, (beats) => tap(card, beats))}>
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
