/** The rules of one table in words, as the service prints them. */
import { useEffect, useRef, useState } from "preact/hooks"
import type { JSX } from "preact"
import { create } from "@bufbuild/protobuf"
import { SettingsSchema, type Settings } from "./gen/durak/v1/settings_pb"
import type { RuleSheet as Sheet } from "./gen/durak/v1/rules_service_pb"
import { answered, rules, textOf } from "./calls"
import { language } from "./settings"
import { t } from "./texts"

export function RuleSheet({ settings, close }: { settings: Settings; close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const [sheet, setSheet] = useState<Sheet>()
  const [problem, setProblem] = useState("")
  useEffect(() => {
    dialog.current?.showModal()
    const wanted = create(SettingsSchema, { ...settings, seriesId: "" })
    answered(() => rules.getRuleSheet({ settings: wanted, language: language.value })).then(
      (it) => setSheet(it.sheet),
      (error) => setProblem(textOf(error)),
    )
  }, [])
  return (
    <dialog ref={dialog} class="sheet" onClose={close} aria-label={t("rules")}>
      <button class="primary close" onClick={close}>{t("close")}</button>
      {problem && <p role="alert">{problem}</p>}
      {sheet && <h1>{sheet.title}</h1>}
      {sheet?.sections.map((section) => (
        <section key={section.id}>
          <h2>{section.title}</h2>
          <ul>{section.lines.map((line) => <li key={line.text}>{line.text} <small>{line.clauses.join(", ")}</small></li>)}</ul>
        </section>
      ))}
    </dialog>
  )
}
