/** The feed of the player who is signed in: read all the time, kept in the browser, and continued where it ended. */
import { computed, effect, signal, untracked, type Signal } from "@preact/signals"
import { address, matchIn, visible } from "./address"
import { feeds, playerOf, reasonOf, token } from "./calls"
import type { PlayerNews } from "./gen/durak/v1/feed_service_pb"
import { EMPTY, keyOf, matchOf, received, restored, stored, type Inbox } from "./inbox"
import { Stream } from "./stream"

export const inbox: Signal<Inbox> = signal(EMPTY)
/** The newest news that came while the page is open. */
export const latest: Signal<PlayerNews | undefined> = signal(undefined)
const player = computed(() => {
  const found = playerOf(token.value)
  return found?.roles.includes("player") ? found.id : ""
})
const seen: Signal<ReadonlySet<string>> = signal(new Set())
export const unseen = computed(() => inbox.value.news.filter((it) => !seen.value.has(keyOf(it))))

const seenName = (id: string): string => `durak.seen.${id}`

/** Keep and read the feed of a player. Returns how to stop. */
function follow(id: string): () => void {
  const name = `durak.feed.${id}`
  const restore = (): void => {
    inbox.value = restored(localStorage.getItem(name))
    seen.value = new Set(JSON.parse(localStorage.getItem(seenName(id)) ?? "[]") as string[])
  }
  const keep = (next: Inbox): void => {
    localStorage.setItem(name, stored(next))
    inbox.value = next
  }
  latest.value = undefined
  const stream = new Stream(async (until, heard) => {
    restore() // another tab of the player can be further
    try {
      for await (const message of feeds.watchPlayer({ afterPosition: inbox.value.position }, { signal: until })) {
        heard()
        if (!message.position) continue
        keep(received(inbox.value, message, id))
        const newest = inbox.value.news[0]
        if (newest && message.news.includes(newest)) latest.value = newest
      }
    } catch (error) {
      const reason = reasonOf(error)
      if (reason === "LOG_CHANGED") keep(EMPTY)
      if (reason === "FEED_POSITION_INVALID") keep({ ...inbox.value, position: "" })
      throw error
    }
    return false
  })
  const heardOfSeen = (it: StorageEvent): void => {
    if (it.key === seenName(id) && it.newValue) seen.value = new Set(JSON.parse(it.newValue) as string[])
  }
  addEventListener("storage", heardOfSeen)
  return () => {
    stream.close()
    removeEventListener("storage", heardOfSeen)
    inbox.value = EMPTY
  }
}

effect(() => {
  const id = player.value
  return id ? untracked(() => follow(id)) : undefined
})

// News is seen on the page of the news, and on the page of its match.
effect(() => {
  const page = address.value
  if (!visible.value || !player.value) return
  const looked = unseen.value.filter((it) => page === "#/news" || (matchIn(page) !== "" && matchOf(it) === matchIn(page)))
  if (looked.length === 0) return
  const kept = inbox.value.news.map(keyOf)
  const all = new Set([...seen.value, ...looked.map(keyOf)])
  seen.value = new Set(kept.filter((it) => all.has(it)))
  localStorage.setItem(seenName(player.value), JSON.stringify([...seen.value]))
})
