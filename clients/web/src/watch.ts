/** One table as this player sees it: a watch that resumes by itself, and commands that are sent until answered. */
import { signal, type Signal } from "@preact/signals"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import type { MoveInit } from "./moves"
import type { Event } from "./gen/durak/v1/events_pb"
import { BotLevel } from "./gen/durak/v1/settings_pb"
import { Outcome } from "./gen/durak/v1/events_pb"
import { Phase, type TableView } from "./gen/durak/v1/table_pb"
import { answered, expired, matches, noteToken, pause, playerOf, reasonOf, requestId, textOf, token } from "./calls"
import { checkDeal, promise, rematchId, secretToReveal, type Fairness } from "./fairness"

/** Two heartbeats and a half: then the connection is dead, whatever the browser says. */
const SILENCE_MS = 38_000

export class Table {
  readonly view: Signal<TableView | undefined> = signal(undefined)
  /** All events from version 1 on. */
  readonly events: Signal<Event[]> = signal([])
  readonly online = signal(false)
  readonly problem = signal("")
  readonly fairness: Signal<Fairness | undefined> = signal(undefined)
  /** The clock of the server minus that of this device. */
  private offsetMs = 0
  private closed = false
  private attempt = new AbortController()
  private heardAt = Date.now()
  private revealing = false
  private busy = false
  private readonly listeners = new AbortController()

  constructor(
    readonly matchId: string,
    readonly linkSecret: Uint8Array,
  ) {
    const { signal: until } = this.listeners
    // A phone that wakes up, or is back online, does not wait for the next attempt.
    addEventListener("online", () => this.attempt.abort(), { signal: until })
    document.addEventListener("visibilitychange", () => this.abandonIfSilent(20_000), { signal: until })
    const timer = setInterval(() => this.abandonIfSilent(SILENCE_MS), 2_000)
    until.addEventListener("abort", () => clearInterval(timer))
    void this.watch()
  }

  close(): void {
    this.closed = true
    this.listeners.abort()
    this.attempt.abort()
  }

  private abandonIfSilent(milliseconds: number): void {
    if (!document.hidden && Date.now() - this.heardAt > milliseconds) this.attempt.abort()
  }

  private async watch(): Promise<void> {
    for (let failures = 0; !this.closed; ) {
      this.attempt = new AbortController()
      this.heardAt = Date.now()
      try {
        const request = { matchId: this.matchId, afterVersion: this.events.value.length, includeViews: true }
        let news: Event[] = []
        for await (const { kind } of matches.watchMatch(request, { signal: this.attempt.signal })) {
          this.heardAt = Date.now()
          this.online.value = true
          failures = 0
          if (kind.case === "event" && kind.value.event) news.push(kind.value.event)
          if (kind.case !== "view") continue
          this.events.value = [...this.events.value, ...news]
          news = []
          this.show(kind.value)
        }
        if (this.view.value?.phase === Phase.ENDED) return
      } catch (error) {
        if (this.closed) return
        noteToken(error)
        const reason = reasonOf(error)
        if (reason === "LOG_CHANGED" || reason === "VERSION_BEYOND_HEAD") this.events.value = []
        else if (reason === "MATCH_NOT_FOUND") return void (this.problem.value = textOf(error))
      }
      this.online.value = false
      await this.beforeNextAttempt(failures++)
    }
  }

  private async beforeNextAttempt(failures: number): Promise<void> {
    while (expired.value && !this.closed) await pause(300)
    await pause(failures === 0 ? 50 : Math.min(250 * 2 ** failures, 5_000) * (0.5 + Math.random() / 2))
  }

  /** Replies and watches overtake each other: the newest view counts. */
  private show(view: TableView): void {
    if (view.serverTime) this.offsetMs = timestampMs(view.serverTime) - Date.now()
    if (this.view.value && this.view.value.version > view.version) return
    this.view.value = view
    if (view.phase === Phase.REVEALING) void this.reveal(view)
    if (view.phase === Phase.ENDED) void this.check(view)
  }

  /** Seconds until the server acts for the seats on the clock. */
  readonly secondsLeft = (): number | undefined => {
    const deadline = this.view.value?.deadlineTime
    return deadline && Math.max(0, (timestampMs(deadline) - Date.now() - this.offsetMs) / 1000)
  }

  private async reveal(view: TableView): Promise<void> {
    const isAsked = view.yourSeat !== undefined && view.onClock.includes(view.yourSeat)
    const secret = isAsked && !this.revealing ? secretToReveal(view) : undefined
    if (!secret) return
    this.revealing = true
    const id = requestId()
    await this.command(() => matches.revealSeed({ matchId: this.matchId, requestId: id, secret }))
    this.revealing = false
  }

  private async check(view: TableView): Promise<void> {
    const isWhole = this.events.value.length === view.version
    if (isWhole && view.result?.outcome !== Outcome.CANCELLED && view.trumpCard)
      this.fairness.value = await checkDeal(this.matchId, this.events.value)
  }

  /** Send a command. Shows its view, or the refusal. */
  private async command(send: () => Promise<{ view?: TableView }>): Promise<TableView | undefined> {
    this.problem.value = ""
    try {
      const { view } = await answered(send)
      // The events come with the watch. Its view of the same version draws the same table.
      if (view && view.matchId === this.matchId) this.showWithEvents(view)
      return view
    } catch (error) {
      this.problem.value = textOf(error)
      return undefined
    }
  }

  private showWithEvents(view: TableView): void {
    if (this.events.value.length >= view.version) this.show(view)
  }

  async sit(seat?: number): Promise<void> {
    const player = playerOf(token.value)
    if (!player) return
    const clientSeedHash = await promise(this.matchId, player.id)
    const request = { matchId: this.matchId, requestId: requestId(), seat, clientSeedHash, linkSecret: this.linkSecret }
    await this.command(() => matches.takeSeat(request))
  }

  async seatBot(level: BotLevel): Promise<void> {
    const request = { matchId: this.matchId, requestId: requestId(), level }
    await this.command(() => matches.seatBot(request))
  }

  readonly play = async (kind: MoveInit): Promise<void> => {
    if (this.busy) return // a second tap before the table shows the first
    this.busy = true
    const request = { matchId: this.matchId, requestId: requestId(), move: { kind } }
    const after = await this.command(() => matches.play(request))
    const isShown = (): boolean => (this.view.value?.version ?? 0) >= (after?.version ?? 0)
    while (!isShown() && this.online.value && !this.closed) await pause(20)
    this.busy = false
  }

  async leave(): Promise<void> {
    const request = { matchId: this.matchId, requestId: requestId() }
    await this.command(() => matches.leaveMatch(request))
  }

  async remove(playerId: string): Promise<void> {
    const request = { matchId: this.matchId, requestId: requestId(), playerId }
    await this.command(() => matches.removePlayer(request))
  }

  async cancel(): Promise<void> {
    const request = { matchId: this.matchId, requestId: requestId() }
    await this.command(() => matches.cancelTable(request))
  }

  /** Returns the id of the new table. */
  async rematch(): Promise<string | undefined> {
    const player = playerOf(token.value)
    if (!player) return undefined
    const clientSeedHash = await promise(await rematchId(this.matchId), player.id)
    const request = { matchId: this.matchId, requestId: requestId(), clientSeedHash }
    return (await this.command(() => matches.rematch(request)))?.matchId
  }
}
