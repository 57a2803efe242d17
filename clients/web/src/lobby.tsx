/** The lobby: tables to join, watch and open. */
import { useEffect, useRef, useState } from "preact/hooks"
import type { JSX, TargetedSubmitEvent } from "preact"
import { BotLevel, Deck, ThrowIn } from "./gen/durak/v1/settings_pb"
import type { MatchSummary } from "./gen/durak/v1/match_service_pb"
import { Phase } from "./gen/durak/v1/table_pb"
import { answered, matches, noteToken, playerOf, requestId, textOf, token } from "./calls"
import { promise } from "./fairness"
import { nameOfSeat } from "./narration"
import { gameName } from "./table"
import { t, type TextId } from "./texts"

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

function OpenTable({ close }: { close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const [problem, setProblem] = useState("")
  useEffect(() => dialog.current?.showModal(), [])
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    const given = new FormData(event.currentTarget)
    const number = (name: string): number => Number(given.get(name))
    const linkSecret = given.has("private") ? crypto.getRandomValues(new Uint8Array(24)) : new Uint8Array()
    const request = {
      requestId: requestId(),
      linkSecret,
      settings: {
        deck: number("deck") as Deck,
        seats: number("seats"),
        throwIn: ThrowIn.ALL,
        transfer: given.has("transfer"),
        tricky: given.has("tricky"),
        drawAllowed: given.has("draws"),
        turnTimerSeconds: number("timer"),
        stakeCoins: BigInt(Math.trunc(number("stake"))),
      },
    }
    try {
      const { view } = await answered(() => matches.openTable(request))
      const key = linkSecret.length ? `?k=${btoa(String.fromCharCode(...linkSecret))}` : ""
      location.hash = `#/match/${view!.matchId}${key}`
    } catch (error) {
      setProblem(textOf(error))
    }
  }
  const tick = (name: string, text: TextId, checked = false): JSX.Element => (
    <label class="tick"><input type="checkbox" name={name} defaultChecked={checked} /> {t(text)}</label>
  )
  return (
    <dialog ref={dialog} onClose={close} aria-label={t("openTable")}>
      <form class="opening" onSubmit={(it) => void submit(it)}>
        <h1>{t("openTable")}</h1>
        <label>{t("players")} <select name="seats">{[2, 3, 4, 5, 6].map((it) => <option key={it} value={it}>{it}</option>)}</select></label>
        <label>{t("deck")} <select name="deck" defaultValue={36}>{[24, 36, 52].map((it) => <option key={it} value={it} selected={it === 36}>{it}</option>)}</select></label>
        <label>{t("timer")} <input name="timer" type="number" min="0" max="86400" defaultValue="60" /></label>
        <label>{t("stake")} <input name="stake" type="number" min="0" max="1000000000" defaultValue="0" /></label>
        {tick("transfer", "perevodnoy")}
        {tick("tricky", "tricky")}
        {tick("draws", "drawsAllowed", true)}
        {tick("private", "privateTable")}
        {problem && <p class="problem" role="alert">{problem}</p>}
        <div class="row"><button type="button" onClick={close}>{t("cancel")}</button><button class="primary">{t("open")}</button></div>
      </form>
    </dialog>
  )
}
