/**
 * Motion that tells what happened (FLIP): every card flies from where it was before. A card that was hidden comes from
 * its seat or the stock, and a card that left the table flies to the discard pile or to the seat that took it.
 */
import type { Event } from "./gen/durak/v1/events_pb"
import { moving } from "./settings"

const DURATION_MS = 320
const EASING = "cubic-bezier(.2,.8,.25,1)"

export type Places = Map<string, { box: DOMRect; picture: Element }>

/** Return where each card is now. */
export function placesIn(root: Element): Places {
  const found: Places = new Map()
  for (const element of root.querySelectorAll("[data-card]"))
    found.set(element.getAttribute("data-card")!, { box: element.getBoundingClientRect(), picture: element })
  return found
}

/** Fly all cards from their places before the newest events to those that they have now. */
export function fly(root: HTMLElement, before: Places, news: Event[], hiddenTab = document.hidden): void {
  if (!moving() || hiddenTab || before.size + news.length === 0) return
  const at = (name: string): DOMRect | undefined => root.querySelector(`[data-place="${name}"]`)?.getBoundingClientRect()
  const origins = originsOf(news)
  for (const element of root.querySelectorAll<HTMLElement>("[data-card]")) {
    const card = element.dataset.card!
    const from = before.get(card)?.box ?? at(origins.get(card) ?? "stock")
    if (from) slide(element, from)
  }
  const [goal, cards] = leavingIn(news)
  const to = at(goal)
  if (!to) return
  for (const card of cards) {
    const old = before.get(String(card))
    if (!old || root.querySelector(`[data-card="${card}"]`)) continue
    const ghost = old.picture.cloneNode(true) as HTMLElement
    ghost.removeAttribute("data-card")
    ghost.className = "ghost"
    Object.assign(ghost.style, {
      left: `${old.box.left}px`, top: `${old.box.top}px`, width: `${old.box.width}px`, height: `${old.box.height}px`,
    })
    document.body.append(ghost)
    const x = to.left + to.width / 2 - old.box.left - old.box.width / 2
    const y = to.top + to.height / 2 - old.box.top - old.box.height / 2
    const frames = [{}, { transform: `translate(${x}px, ${y}px) scale(.6)`, opacity: 0.2 }]
    ghost.animate(frames, { duration: DURATION_MS * 1.3, easing: EASING }).onfinish = () => ghost.remove()
  }
}

function slide(element: HTMLElement, from: DOMRect): void {
  const to = element.getBoundingClientRect()
  const [x, y] = [from.left - to.left, from.top - to.top]
  if (Math.hypot(x, y) < 2 || !to.width) return
  const scale = Math.max(0.3, Math.min(from.width / to.width, 1.5))
  const frames = [
    { transform: `translate(${x}px, ${y}px) scale(${scale})`, transformOrigin: "0 0", zIndex: 5 },
    { transform: "none", transformOrigin: "0 0", zIndex: 5 },
  ]
  element.animate(frames, { duration: DURATION_MS, easing: EASING })
}

function originsOf(news: Event[]): Map<string, string> {
  const origins = new Map<string, string>()
  for (const { kind } of news)
    if (kind.case === "attacked" || kind.case === "defended" || kind.case === "transferred")
      origins.set(String(kind.value.card), `seat-${kind.value.seat}`)
  return origins
}

function leavingIn(news: Event[]): [string, number[]] {
  for (const { kind } of news) {
    if (kind.case === "discarded") return ["discard", kind.value.cards]
    if (kind.case === "took") return [`seat-${kind.value.seat}`, kind.value.cards]
  }
  return ["discard", []]
}
