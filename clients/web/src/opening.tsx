/** The form that opens a table: a preset or free settings, for everybody, for invited players, or by a link. */
import { useEffect, useRef, useState } from "preact/hooks"
import type { JSX, TargetedSubmitEvent } from "preact"
import { create } from "@bufbuild/protobuf"
import type { Preset } from "./gen/durak/v1/rules_service_pb"
import { Deck, SettingsSchema, ThrowIn, type Settings } from "./gen/durak/v1/settings_pb"
import { answered, matches, requestId, rules, textOf } from "./calls"
import { useRead } from "./reading"
import { language } from "./settings"
import { t, type TextId } from "./texts"

const FREE = create(SettingsSchema, {
  deck: Deck.DECK_36, seats: 2, throwIn: ThrowIn.ALL, drawAllowed: true, turnTimerSeconds: 60,
})

export function OpenTable({ close }: { close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const [name, setName] = useState("")
  const [problem, setProblem] = useState("")
  const { found } = useRead(() => rules.listPresets({ language: language.value }), [language.value])
  useEffect(() => dialog.current?.showModal(), [])
  const preset = found?.presets.find((it) => it.name === name)
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    const given = new FormData(event.currentTarget)
    const linkSecret = given.has("private") ? crypto.getRandomValues(new Uint8Array(24)) : new Uint8Array()
    const invited = String(given.get("invited")).split(/[\s,]+/).filter(Boolean).map(encodeURIComponent)
    const request = { requestId: requestId(), settings: settingsOf(given, preset), startSeries: given.has("series"), invited, linkSecret }
    try {
      const { view } = await answered(() => matches.openTable(request))
      const key = linkSecret.length ? `?k=${btoa(String.fromCharCode(...linkSecret))}` : ""
      location.hash = `#/match/${view!.matchId}${key}`
    } catch (error) {
      setProblem(textOf(error))
    }
  }
  return (
    <dialog ref={dialog} onClose={close} aria-label={t("openTable")}>
      <form class="opening" onSubmit={(it) => void submit(it)}>
        <h1>{t("openTable")}</h1>
        <label>{t("preset")} <select value={name} onChange={(it) => setName(it.currentTarget.value)}>
          <option value="">{t("ownRules")}</option>
          {found?.presets.map((it) => <option key={it.name} value={it.name}>{it.title}</option>)}
        </select></label>
        {preset && <p><small>{preset.description}</small></p>}
        <Fields key={name} preset={preset} />
        <Tick name="series" text="startSeries" />
        <Tick name="private" text="privateTable" />
        <label>{t("invited")} <input name="invited" placeholder="anna, boris" autocomplete="off" spellcheck={false} /></label>
        {problem && <p class="problem" role="alert">{problem}</p>}
        <div class="row"><button type="button" onClick={close}>{t("cancel")}</button><button class="primary">{t("open")}</button></div>
      </form>
    </dialog>
  )
}

/** The settings of a form. What a preset locks is left out. */
function settingsOf(given: FormData, preset: Preset | undefined): Settings {
  const number = (name: string): number => Math.trunc(Number(given.get(name)))
  const chosen = {
    deck: number("deck") as Deck,
    seats: number("seats"),
    throwIn: number("throw_in") as ThrowIn,
    transfer: given.has("transfer"),
    tricky: given.has("tricky"),
    drawAllowed: given.has("draw_allowed"),
    fiveCardOpening: given.has("five_card_opening"),
    turnTimerSeconds: number("turn_timer_seconds"),
    stakeCoins: BigInt(number("stake_coins")),
  }
  const locked = (preset?.locked ?? []).map((it) => it.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()))
  const free = Object.fromEntries(Object.entries(chosen).filter(([name]) => !locked.includes(name)))
  return create(SettingsSchema, { ...free, preset: preset?.name ?? "" })
}

/** One field for each setting. Those that the preset locks show its value. */
function Fields({ preset }: { preset: Preset | undefined }): JSX.Element {
  const isLocked = (name: string): boolean => preset?.locked.includes(name) ?? false
  const shown = (name: string): Settings => (isLocked(name) ? preset!.settings! : FREE)
  const choice = (name: string, text: TextId, value: number, options: [number, string][]): JSX.Element => (
    <label>{t(text)} <select name={name} disabled={isLocked(name)}>
      {options.map(([it, label]) => <option key={it} value={it} selected={it === value}>{label}</option>)}
    </select></label>
  )
  const amount = (name: string, text: TextId, value: number | bigint, max: number): JSX.Element => (
    <label>{t(text)} <input name={name} type="number" min="0" max={max} defaultValue={String(value)} disabled={isLocked(name)} /></label>
  )
  const numbers = (all: number[]): [number, string][] => all.map((it) => [it, String(it)])
  return (
    <>
      {choice("seats", "players", shown("seats").seats, numbers([2, 3, 4, 5, 6]))}
      {choice("deck", "deck", shown("deck").deck, numbers([24, 36, 52]))}
      {choice("throw_in", "whoThrows", shown("throw_in").throwIn, [[ThrowIn.ALL, t("throwAll")], [ThrowIn.NEIGHBOURS, t("throwNeighbours")]])}
      {amount("turn_timer_seconds", "timer", shown("turn_timer_seconds").turnTimerSeconds, 86_400)}
      {amount("stake_coins", "stake", shown("stake_coins").stakeCoins, 1_000_000_000)}
      <Tick name="transfer" text="perevodnoy" checked={shown("transfer").transfer} disabled={isLocked("transfer")} />
      <Tick name="tricky" text="tricky" checked={shown("tricky").tricky} disabled={isLocked("tricky")} />
      <Tick name="draw_allowed" text="drawsAllowed" checked={shown("draw_allowed").drawAllowed} disabled={isLocked("draw_allowed")} />
      <Tick name="five_card_opening" text="fiveCards" checked={shown("five_card_opening").fiveCardOpening} disabled={isLocked("five_card_opening")} />
    </>
  )
}

function Tick({ name, text, checked, disabled }: { name: string; text: TextId; checked?: boolean | undefined; disabled?: boolean }): JSX.Element {
  return <label class="tick"><input type="checkbox" name={name} defaultChecked={checked ?? false} disabled={disabled ?? false} /> {t(text)}</label>
}
