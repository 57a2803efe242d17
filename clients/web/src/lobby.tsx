/** The lobby: tables to join, watch and open. */
import { useEffect, useState } from "preact/hooks"
import type { JSX } from "preact"
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { visible } from "./address"
import { boardAfter, tablesOf, type Board } from "./board"
import { inbox } from "./feed"
import { LobbyFilterSchema } from "./gen/durak/v1/feed_service_pb"
import { BotLevel, Deck, ThrowIn } from "./gen/durak/v1/settings_pb"
import type { MatchSummary } from "./gen/durak/v1/match_service_pb"
import { Phase } from "./gen/durak/v1/table_pb"
import { answered, feeds, matches, playerOf, requestId, textOf, token } from "./calls"
import { promise } from "./fairness"
import { gameName, nameOfSeat } from "./narration"
import { OpenTable } from "./opening"
import { useRead } from "./reading"
import { Stream } from "./stream"
import { t } from "./texts"

type Tab = "waiting" | "playing" | "mine"
type Filter = MessageInitShape<typeof LobbyFilterSchema>
const GAMES = {
  anyGame: {}, podkidnoy: { transfer: false }, perevodnoy: { transfer: true }, tricky: { tricky: true }, staked: { stakeCoinsMin: 1n },
} as const satisfies Record<string, Filter>
type Game = keyof typeof GAMES

export function Lobby(): JSX.Element {
  const [tab, setTab] = useState<Tab>("waiting")
  const [game, setGame] = useState<Game>("anyGame")
  const [seats, setSeats] = useState(0)
  const [deck, setDeck] = useState(Deck.DECK_UNSPECIFIED)
  const [problem, setProblem] = useState("")
  const [opens, setOpens] = useState(false)
  const caller = playerOf(token.value)
  const player = caller?.id ?? ""
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
  const numbers = (value: number, set: (it: number) => void, any: "anySeats" | "anyDeck", name: "players" | "deck", all: number[]): JSX.Element => (
    <select aria-label={t(name)} value={value} onChange={(it) => set(Number(it.currentTarget.value))}>
      <option value={0}>{t(any)}</option>
      {all.map((it) => <option key={it} value={it}>{t(name)}: {it}</option>)}
    </select>
  )
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
      <div role="group" aria-label={t("tables")} class="tabs">
        {(["waiting", "playing", "mine"] as const).map((it) => (
          <button key={it} aria-pressed={tab === it} onClick={() => setTab(it)}>{t(it)}</button>
        ))}
      </div>
      {tab !== "mine" && (
        <div class="filters">
          <select aria-label={t("game")} value={game} onChange={(it) => setGame(it.currentTarget.value as Game)}>
            {(Object.keys(GAMES) as Game[]).map((it) => <option key={it} value={it}>{t(it)}</option>)}
          </select>
          {numbers(seats, setSeats, "anySeats", "players", [2, 3, 4, 5, 6])}
          {numbers(deck, setDeck, "anyDeck", "deck", [24, 36, 52])}
        </div>
      )}
      {problem && <p class="strip problem" role="alert">{problem}</p>}
      {tab === "mine" ? <Mine /> : <Live key={`${tab} ${game} ${seats} ${deck}`} phase={tab === "waiting" ? Phase.WAITING : Phase.PLAYING} filter={{ ...GAMES[game], seats, deck }} />}
      {opens && <OpenTable close={() => setOpens(false)} />}
    </main>
  )
}

/** The tables that fit, as they are now. They are watched while the page is on the screen. */
function Live({ phase, filter }: { phase: Phase; filter: Filter }): JSX.Element {
  const [tables, setTables] = useState<MatchSummary[]>()
  const [broken, setBroken] = useState(false)
  useEffect(() => {
    if (!visible.value) return
    const stream = new Stream(async (until, heard) => {
      let board: Board = new Map()
      let isWhole = false
      const request = { phase, filter: create(LobbyFilterSchema, filter) }
      for await (const message of feeds.watchLobby(request, { signal: until })) {
        heard()
        board = boardAfter(board, message)
        isWhole ||= message.caughtUp
        if (isWhole) setTables(tablesOf(board))
      }
      return false
    })
    const stopped = stream.state.subscribe((it) => setBroken(it === "broken"))
    return () => {
      stopped()
      stream.close()
    }
  }, [token.value, visible.value])
  return (
    <>
      {broken && <p class="strip" role="status">{t("offline")}</p>}
      <List tables={tables} />
    </>
  )
}

/** The matches of the player. They are read again when there is news. */
function Mine(): JSX.Element {
  const { found, problem } = useRead(() => matches.listMatches({ mine: true, pageSize: 50 }), [token.value, visible.value, inbox.value.news])
  return (
    <>
      {problem && <p class="strip problem" role="alert">{problem}</p>}
      <List tables={found?.matches} />
    </>
  )
}

function List({ tables }: { tables: MatchSummary[] | undefined }): JSX.Element | null {
  if (!tables) return null
  if (tables.length === 0) return <p class="empty">{t("noTables")}</p>
  return (
    <ul class="tables">
      {tables.map((it) => (
        <li key={it.matchId}>
          <a href={`#/match/${it.matchId}`}>
            <b>{gameName(it)}</b>
            <span class="names">{it.seats.map((seat) => <span class={seat.taken ? "taken" : ""} key={seat.seat}>{nameOfSeat(seat)}</span>)}</span>
            <span class="go">{t(it.phase === Phase.WAITING ? "sit" : "watch")} →</span>
          </a>
        </li>
      ))}
    </ul>
  )
}
