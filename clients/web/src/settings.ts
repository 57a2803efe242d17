/** The settings of this device, kept in the browser. */
import { effect, signal, type Signal } from "@preact/signals"

function kept<T>(name: string, first: T): Signal<T> {
  const stored = localStorage.getItem(`durak.${name}`)
  const found = signal<T>(stored === null ? first : (JSON.parse(stored) as T))
  effect(() => localStorage.setItem(`durak.${name}`, JSON.stringify(found.value)))
  return found
}

export const LANGUAGES = ["ru", "el", "en"] as const
export type Language = (typeof LANGUAGES)[number]

const preferred = navigator.languages.map((it) => it.slice(0, 2)).find((it) => LANGUAGES.includes(it as Language))
export const language = kept<Language>("language", (preferred as Language) ?? "en")
export const theme = kept<"auto" | "light" | "dark">("theme", "auto")
export const motion = kept("motion", true)
export const sound = kept("sound", false)
export const fourColours = kept("four-colours", false)

effect(() => {
  const root = document.documentElement
  root.lang = language.value
  root.dataset.theme = theme.value
  root.dataset.suits = fourColours.value ? "four" : "two"
})

/** True: cards move. The setting of the system counts too. */
export const moving = (): boolean => motion.value && !matchMedia("(prefers-reduced-motion: reduce)").matches

let audio: AudioContext | undefined

/** A short tone, if the player has turned sound on. */
export function tone(frequency: number): void {
  if (!sound.value) return
  audio ??= new AudioContext()
  const oscillator = new OscillatorNode(audio, { frequency, type: "triangle" })
  const gain = new GainNode(audio, { gain: 0.12 })
  gain.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + 0.18)
  oscillator.connect(gain).connect(audio.destination)
  oscillator.start()
  oscillator.stop(audio.currentTime + 0.2)
}
