/** One table as this player sees it: a watch that resumes by itself, and commands that are sent until answered. */
import { signal, type Signal } from "@preact/signals"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import type { MoveInit } from "./moves"
import type { Event } from "./gen/durak/v1/events_pb"
import { BotLevel } from "./gen/durak/v1/settings_pb"
import { Outcome } from "./gen/durak/v1/events_pb"
import { Phase, type TableView } from "./gen/durak/v1/table_pb"
import { answered, matches, pause, playerOf, reasonOf, requestId, textOf, token } from "./calls"
import { checkDeal, promise, rematchId, secretToReveal, type Fairness } from "./fairness"
import { Stream } from "./stream"

export class Table {
  readonly view: Signal<TableView | undefined> = signal(undefined)
  /** All events from version 1 on. */
  readonly events: Signal<Event[]> = signal([])
  readonly problem = signal("")
  readonly fairness: Signal<Fairness | undefined> = signal(undefined)
  /** The clock of the server minus that of this device. */
  private offsetMs = 0
  private revealing = false
  private busy = false
  private readonly stream: Stream

  constructor(
    readonly matchId: string,
    readonly linkSecret: Uint8Array,
  ) {
    this.stream = new Stream((until, heard) => this.watch(until, heard))
  }

  get online(): boolean {
    return this.stream.state.value === "open"
  }

  close(): void {
    this.stream.close()
  }

  private async watch(until: AbortSignal, heard: () => void): Promise<boolean> {
    const request = { matchId: this.matchId, afterVersion: this.events.value.length, includeViews: true }
    let news: Event[] = []
    try {
      for await (const { kind } of matches.watchMatch(request, { signal: until })) {
        heard()
        if (kind.case === "event" && kind.value.event) news.push(kind.value.event)
        if (kind.case !== "view") continue
        this.events.value = [...this.events.value, ...news]
        news = []
        this.show(kind.value)
      }
    } catch (error) {
      const reason = reasonOf(error)
      if (reason === "LOG_CHANGED" || reason === "VERSION_BEYOND_HEAD") this.events.value = []
      if (reason !== "MATCH_NOT_FOUND" || this.stream.closed) throw error
      this.problem.value = textOf(error)
      return true
    }
    return this.view.value?.phase === Phase.ENDED
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
    while (!isShown() && this.online && !this.stream.closed) await pause(20)
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
