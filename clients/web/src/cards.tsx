/** Playing cards as SVG. */
import type { JSX } from "preact"
import { rankOf, suitOf } from "./moves"
import { language } from "./settings"

const PIPS = [
  "M50 6a19 19 0 0 0-16 29 20 20 0 1 0 11 30c0 12-4 20-13 27h36c-9-7-13-15-13-27a20 20 0 1 0 11-30A19 19 0 0 0 50 6z",
  "M50 4 84 50 50 96 16 50z",
  "M50 92C30 70 8 54 8 32A22 22 0 0 1 50 22 22 22 0 0 1 92 32C92 54 70 70 50 92z",
  "M50 5C64 28 91 42 91 63A20 20 0 0 1 56 74C57 83 61 89 68 94H32C39 89 43 83 44 74A20 20 0 0 1 9 63C9 42 36 28 50 5z",
]
export const SUITS = ["♣", "♦", "♥", "♠"]
const LETTERS: Record<string, string[]> = {
  ru: ["В", "Д", "К", "Т"],
  el: ["Β", "Ν", "Ρ", "Α"],
  en: ["J", "Q", "K", "A"],
}
const CROWNS: Record<number, string> = {
  11: "M30 40h40l-4-16c-10 5-22 5-32 0z",
  12: "M26 40h48l4-20-14 9-14-15-14 15-14-9z",
  13: "M24 40h52l5-24-16 10L50 8 35 26 19 16z",
}

export function rankText(card: number, language: string): string {
  const rank = rankOf(card)
  return rank <= 10 ? String(rank) : (LETTERS[language] ?? LETTERS.en!)[rank - 11]!
}

/** The name of a card in signs, such as `10♠`. */
export const nameOf = (card: number, language: string): string =>
  card === 0 ? "🂠" : rankText(card, language) + SUITS[suitOf(card)]

export function CardFace({ card, language }: { card: number; language: string }): JSX.Element {
  if (card === 0) return <CardBack />
  const rank = rankOf(card)
  const suit = suitOf(card)
  const text = rankText(card, language)
  const corner = (
    <g>
      <text class="rank" x="15" y="31" text-anchor="middle" textLength={text.length > 1 ? 23 : undefined} lengthAdjust="spacingAndGlyphs">{text}</text>
      <path d={PIPS[suit]} transform="translate(7 38) scale(.16)" />
    </g>
  )
  return (
    <svg class={`card suit-${suit}`} viewBox="0 0 100 140" aria-hidden="true">
      <rect class="paper" x=".75" y=".75" width="98.5" height="138.5" rx="9" />
      {rank > 10 && rank < 14 ? (
        <g>
          <rect class="court" x="30" y="22" width="40" height="96" rx="5" />
          <path class="crown" d={CROWNS[rank]} transform="translate(30 28) scale(.4)" />
          <text class="letter" x="50" y="82" text-anchor="middle">{text}</text>
          <path d={PIPS[suit]} transform="translate(40 90) scale(.2)" />
        </g>
      ) : (
        <path d={PIPS[suit]} transform={rank === 14 ? "translate(22 42) scale(.56)" : "translate(29 50) scale(.42)"} />
      )}
      {corner}
      <g transform="rotate(180 50 70)">{corner}</g>
    </svg>
  )
}

export function CardBack(): JSX.Element {
  return (
    <svg class="card back" viewBox="0 0 100 140" aria-hidden="true">
      <rect class="paper" x=".75" y=".75" width="98.5" height="138.5" rx="9" />
      <rect class="weave" x="7" y="7" width="86" height="126" rx="5" />
      <path class="thread" d="M7 45 45 7M7 83 83 7M7 121 93 35M33 133 93 73M71 133 93 111M55 7 93 45M17 7 93 83M7 35 93 121M7 73 67 133M7 111 29 133" />
      <circle class="seal" cx="50" cy="70" r="17" />
      <path class="seal-pip" d={PIPS[3]} transform="translate(40 60) scale(.2)" />
    </svg>
  )
}

/** Cards in a row under a name. */
export function CardRow({ name, cards }: { name: string; cards: number[] }): JSX.Element {
  return (
    <div class="row-cards" role="img" aria-label={`${name}: ${cards.map((it) => nameOf(it, language.value)).join(" ")}`}>
      <small>{name}</small>
      <div>{cards.map((it, at) => <CardFace key={at} card={it} language={language.value} />)}</div>
    </div>
  )
}
