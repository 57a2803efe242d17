/** What the reader looks at: the page in the address, and if it is on the screen. */
import { signal } from "@preact/signals"

export const address = signal(location.hash)
addEventListener("hashchange", () => (address.value = location.hash))

export const visible = signal(!document.hidden)
document.addEventListener("visibilitychange", () => (visible.value = !document.hidden))

/** The match of the page. Empty: another page. */
export const matchIn = (page: string): string => /^#\/match\/([0-9a-f-]{36})/i.exec(page)?.[1] ?? ""
