/** A stream that is called again by itself: after errors, silence and sleep, and when the network is back. */
import { signal } from "@preact/signals"
import { expired, pause, renewed, token } from "./calls"

/** Two heartbeats and a half: then the connection is dead, whatever the browser says. */
const SILENCE_MS = 38_000
const SILENCE_AFTER_SLEEP_MS = 20_000

/** Calls the stream once and reads it to its end; calls `heard` for each message. True: it must not be called again. */
export type Read = (until: AbortSignal, heard: () => void) => Promise<boolean>

export class Stream {
  readonly state = signal<"opening" | "open" | "broken">("opening")
  private attempt = new AbortController()
  private heardAt = Date.now()
  private readonly end = new AbortController()

  constructor(private readonly read: Read) {
    const { signal: until } = this.end
    // A phone that wakes up, or is back online, does not wait for the next attempt.
    addEventListener("online", () => this.attempt.abort(), { signal: until })
    document.addEventListener("visibilitychange", () => this.abandonIfSilent(SILENCE_AFTER_SLEEP_MS), { signal: until })
    const timer = setInterval(() => this.abandonIfSilent(SILENCE_MS), 2_000)
    until.addEventListener("abort", () => clearInterval(timer))
    void this.run()
  }

  get closed(): boolean {
    return this.end.signal.aborted
  }

  close(): void {
    this.end.abort()
    this.attempt.abort()
  }

  private abandonIfSilent(milliseconds: number): void {
    if (!document.hidden && Date.now() - this.heardAt > milliseconds) this.attempt.abort()
  }

  private async run(): Promise<void> {
    for (let failures = 0; !this.closed; failures++) {
      this.attempt = new AbortController()
      this.heardAt = Date.now()
      const heard = (): void => {
        this.heardAt = Date.now()
        this.state.value = "open"
        failures = 0
      }
      const used = token.value
      try {
        if (await this.read(this.attempt.signal, heard)) return
      } catch (error) {
        if (this.closed) return
        if (await renewed(error, used)) continue
      }
      this.state.value = "broken"
      await this.beforeNextAttempt(failures)
    }
  }

  private async beforeNextAttempt(failures: number): Promise<void> {
    while (expired.value && !this.closed) await pause(300)
    await pause(failures === 0 ? 50 : Math.min(250 * 2 ** failures, 5_000) * (0.5 + Math.random() / 2))
  }
}
