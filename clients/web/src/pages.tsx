/** The smaller pages: ratings, practice, settings. */
import { useState } from "preact/hooks"
import type { JSX } from "preact"
import type { Signal } from "@preact/signals"
import { CardRow } from "./cards"
import type { Puzzle, PuzzleChoice, PuzzleSummary, TryMoveResponse } from "./gen/durak/v1/practice_service_pb"
import type { Rating } from "./gen/durak/v1/standings_service_pb"
import { answered, playerOf, practice, signOut, standings, textOf, token, wallet } from "./calls"
import { coinsOf, playerName, timeOf } from "./narration"
import { useRead } from "./reading"
import { fourColours, language, LANGUAGES, motion, sound, theme, type Language } from "./settings"
import { t, type TextId } from "./texts"

export function Ratings(): JSX.Element {
  const { found, problem } = useRead(() => standings.listRatings({ pageSize: 50 }), [token.value])
  const own = playerOf(token.value)?.id
  return (
    <main class="page">
      <h1>{t("ratings")}</h1>
      {problem && <p class="problem" role="alert">{problem}</p>}
      <ol class="ratings">{found?.ratings.map((it) => <Line key={it.playerId} rating={it} own={it.playerId === own} />)}</ol>
    </main>
  )
}

export function Coins(): JSX.Element {
  const { found, problem } = useRead(async () => {
    const [{ balance }, { transfers }] = await Promise.all([wallet.getBalance({}), wallet.listTransfers({ pageSize: 50 })])
    return { balance, transfers }
  }, [token.value])
  return (
    <main class="page">
      <h1>{t("yourCoins")}</h1>
      {problem && <p class="problem" role="alert">{problem}</p>}
      <p>{t("available")}: <b>{String(found?.balance?.availableCoins ?? "")}</b> · {t("escrow")}: {String(found?.balance?.escrowCoins ?? "")}</p>
      <table class="transfers">
        <tbody>{found?.transfers.map((it) => (
          <tr key={String(it.number)}>
            <td>{timeOf(it.createTime)}</td>
            <td>{it.matchId ? <a href={`#/match/${it.matchId}`}>{coinsOf(it)}</a> : coinsOf(it)}</td>
            <td class="number">{String(it.coins)}</td>
            <td class="number">{String(it.availableAfterCoins)}</td>
          </tr>
        ))}</tbody>
      </table>
    </main>
  )
}

function Line({ rating, own }: { rating: Rating; own: boolean }): JSX.Element {
  return (
    <li class={own ? "own" : ""}>
      <b>{playerName(rating.playerId)}</b>
      <span>{rating.points} {t("points")}</span>
      <small>{rating.wins} {t("wins")} · {rating.losses} {t("losses")}</small>
    </li>
  )
}

const DIFFICULTIES = [1, 2, 3, 4, 5]

export function Practice(): JSX.Element {
  const [chosen, setChosen] = useState<PuzzleSummary>()
  const [difficulty, setDifficulty] = useState(0)
  const { found, problem } = useRead(allPuzzles, [language.value])
  if (chosen) return <PuzzlePage id={chosen.puzzleId} back={() => setChosen(undefined)} />
  const shown = found?.filter((it) => !difficulty || it.difficulty === difficulty)
  return (
    <main class="page">
      <h1>{t("practice")}</h1>
      {problem && <p class="problem" role="alert">{problem}</p>}
      <select aria-label={t("difficulty")} value={difficulty} onChange={(it) => setDifficulty(Number(it.currentTarget.value))}>
        <option value={0}>{t("anyDifficulty")}</option>
        {DIFFICULTIES.map((it) => <option key={it} value={it}>{"★".repeat(it)}</option>)}
      </select>
      <ul class="tables">
        {shown?.map((it) => (
          <li key={it.puzzleId}><button class="row-button" onClick={() => setChosen(it)}><b>{it.title}</b><span aria-label={`${it.difficulty}`}>{"★".repeat(it.difficulty)}</span></button></li>
        ))}
      </ul>
    </main>
  )
}

async function allPuzzles(): Promise<PuzzleSummary[]> {
  const all: PuzzleSummary[] = []
  let pageToken = ""
  do {
    const page = await practice.listPuzzles({ language: language.value, pageSize: 100, pageToken })
    all.push(...page.puzzles)
    pageToken = page.nextPageToken
  } while (pageToken)
  return all
}

function PuzzlePage({ id, back }: { id: string; back: () => void }): JSX.Element {
  const { found, problem } = useRead(() => practice.getPuzzle({ puzzleId: id, language: language.value }), [id, language.value])
  const [answer, setAnswer] = useState<TryMoveResponse>()
  const [refusal, setRefusal] = useState("")
  const puzzle = found?.puzzle
  const choose = async ({ kind }: PuzzleChoice): Promise<void> => {
    try {
      setAnswer(await answered(() => practice.tryMove({ puzzleId: id, language: language.value, choice: kind })))
    } catch (error) {
      setRefusal(textOf(error))
    }
  }
  return (
    <main class="page puzzle">
      <button class="quiet" onClick={back}>← {t("practice")}</button>
      {(problem || refusal) && <p class="problem" role="alert">{problem || refusal}</p>}
      {puzzle && <Position puzzle={puzzle} />}
      {puzzle && !answer && (
        <div class="choices">{puzzle.choices.map((it) => <button key={it.text} onClick={() => void choose(it)}>{it.text}</button>)}</div>
      )}
      {answer && (
        <div class={`answer ${answer.right ? "right" : ""}`} role="status">
          <h2>{t(answer.right ? "right" : "wrong")}</h2>
          <p>{answer.resultText}</p>
          <p>{answer.explanation}</p>
          <ol>{[...answer.steps, ...answer.continuation].map((it, at) => <li key={at}>{it.text}</li>)}</ol>
          <button class="primary" onClick={() => setAnswer(undefined)}>{t("again")}</button>
        </div>
      )}
    </main>
  )
}

function Position({ puzzle }: { puzzle: Puzzle }): JSX.Element {
  const view = puzzle.view!
  const onTable = view.table.flatMap((it) => [it.attackCard, ...(it.defence ? [it.defence.card] : [])])
  return (
    <>
      <h1>{puzzle.summary?.title}</h1>
      <p>{puzzle.situation}</p>
      <CardRow name={t("opponent")} cards={puzzle.opponentHand} />
      {onTable.length > 0 && <CardRow name={t("onTable")} cards={onTable} />}
      <CardRow name={t("hand")} cards={view.hand} />
      <h2>{puzzle.question}</h2>
    </>
  )
}

const LANGUAGE_NAMES: Record<Language, string> = { ru: "Русский", el: "Ελληνικά", en: "English" }

export function SettingsPage(): JSX.Element {
  const tick = (setting: Signal<boolean>, text: TextId): JSX.Element => (
    <label class="tick"><input type="checkbox" checked={setting.value} onChange={(it) => (setting.value = it.currentTarget.checked)} /> {t(text)}</label>
  )
  return (
    <main class="page">
      <h1>{t("settings")}</h1>
      <div class="opening">
        <label>{t("languageName")} <select value={language.value} onChange={(it) => (language.value = it.currentTarget.value as Language)}>
          {LANGUAGES.map((it) => <option key={it} value={it} lang={it}>{LANGUAGE_NAMES[it]}</option>)}
        </select></label>
        <label>{t("theme")} <select value={theme.value} onChange={(it) => (theme.value = it.currentTarget.value as typeof theme.value)}>
          {(["auto", "light", "dark"] as const).map((it) => <option key={it} value={it}>{t(it)}</option>)}
        </select></label>
        {tick(motion, "motion")}
        {tick(sound, "sound")}
        {tick(fourColours, "fourColours")}
        <button onClick={signOut}>{t("signOut")}</button>
      </div>
    </main>
  )
}
