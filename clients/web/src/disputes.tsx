/** Disputes: a player complains about an event or a payout, an auditor looks at the evidence and rules. */
import { useEffect, useRef, useState } from "preact/hooks"
import type { ComponentChildren, JSX, TargetedSubmitEvent } from "preact"
import { CardRow } from "./cards"
import type { OpenState } from "./gen/durak/v1/audit_service_pb"
import {
  CorrectionDecision, DisputeStatus, Ruling, type Correction, type Dispute, type DisputeEvidence, type DisputeRecord, type GetDisputeResponse,
} from "./gen/durak/v1/dispute_service_pb"
import { answered, disputes, playerOf, requestId, textOf, token } from "./calls"
import { nameOfSeat, playerName, sentence, signed, timeOf } from "./narration"
import { useRead } from "./reading"
import { t, type TextId } from "./texts"

export const STATUS_NAMES: Record<DisputeStatus, TextId> = {
  [DisputeStatus.UNSPECIFIED]: "anyStatus",
  [DisputeStatus.OPEN]: "dOpen",
  [DisputeStatus.CORRECTION_PENDING]: "dPending",
  [DisputeStatus.UPHELD]: "dUpheld",
  [DisputeStatus.REJECTED]: "dRejected",
}
const PAGE_SIZE = 50

const subjectOf = ({ complaint }: Dispute): string =>
  complaint?.about.case === "version" ? t("aboutEvent", complaint.about.value) : t("aboutPayout")

export function Disputes(): JSX.Element {
  const [status, setStatus] = useState(DisputeStatus.UNSPECIFIED)
  const { found, problem } = useRead(() => disputes.listDisputes({ status, pageSize: PAGE_SIZE }), [status, token.value])
  return (
    <main class="page">
      <h1>{t("disputes")}</h1>
      <div class="filters">
        <select aria-label={t("status")} value={status} onChange={(it) => setStatus(Number(it.currentTarget.value))}>
          {Object.entries(STATUS_NAMES).map(([value, name]) => <option key={value} value={value}>{t(name)}</option>)}
        </select>
      </div>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {found?.disputes.length === 0 && <p class="empty">{t("noDisputes")}</p>}
      <ul class="tables">
        {found?.disputes.map((it) => (
          <li key={it.disputeId}>
            <a href={`#/dispute/${it.disputeId}`}>
              <b>{subjectOf(it)}</b>
              <small>{playerName(it.openedBy)} · {timeOf(it.openTime)}</small>
              <span class="go">{t(STATUS_NAMES[it.status])} →</span>
            </a>
          </li>
        ))}
      </ul>
    </main>
  )
}

interface ComplainProps {
  matchId: string
  version: number
  /** The event in words. */
  event: string
  /** True: the payout can be the subject, too. */
  staked: boolean
  close: () => void
}

/** The form of a complaint. */
export function Complain({ matchId, version, event, staked, close }: ComplainProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useRef(requestId())
  const [problem, setProblem] = useState("")
  useEffect(() => dialog.current?.showModal(), [])
  const submit = async (given: FormData): Promise<void> => {
    const about = given.get("about") === "payout" ? ({ case: "payout", value: {} } as const) : ({ case: "version", value: version } as const)
    const request = { requestId: id.current, matchId, about, reason: String(given.get("reason")) }
    try {
      const { dispute } = await answered(() => disputes.openDispute(request))
      location.hash = `#/dispute/${dispute!.disputeId}`
    } catch (error) {
      id.current = requestId()
      setProblem(textOf(error))
    }
  }
  return (
    <dialog ref={dialog} onClose={close} aria-label={t("complain")}>
      <form class="stack" onSubmit={(it) => void submitted(it, submit)}>
        <h1>{t("complain")}</h1>
        <p>{t("aboutEvent", version)}{event && `: ${event}`}</p>
        {staked && (
          <label>{t("subject")} <select name="about">
            <option value="event">{t("aboutEvent", version)}</option>
            <option value="payout">{t("aboutPayout")}</option>
          </select></label>
        )}
        <Reason label="whatWentWrong" />
        {problem && <p class="problem" role="alert">{problem}</p>}
        <div class="row"><button type="button" onClick={close}>{t("cancel")}</button><button class="primary">{t("send")}</button></div>
      </form>
    </dialog>
  )
}

function submitted(event: TargetedSubmitEvent<HTMLFormElement>, submit: (given: FormData) => Promise<void>): Promise<void> {
  event.preventDefault()
  return submit(new FormData(event.currentTarget))
}

function Reason({ label }: { label: TextId }): JSX.Element {
  return <label>{t(label)} <textarea name="reason" required maxLength={2000} rows={4} /></label>
}

export function DisputePage({ id }: { id: string }): JSX.Element {
  const [reads, setReads] = useState(0)
  const { found, problem } = useRead(() => disputes.getDispute({ disputeId: id }), [id, token.value, reads])
  const again = (): void => setReads(reads + 1)
  return (
    <main class="page">
      <a class="quiet button" href="#/disputes">← {t("disputes")}</a>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {found?.dispute && <Case response={found} dispute={found.dispute} again={again} />}
    </main>
  )
}

function Case({ response, dispute, again }: { response: GetDisputeResponse; dispute: Dispute; again: () => void }): JSX.Element {
  const { evidence, records } = response
  const { complaint } = dispute
  const version = complaint?.about.case === "version" ? `?at=${complaint.about.value}` : ""
  const roles = playerOf(token.value)?.roles ?? []
  return (
    <>
      <h1>{subjectOf(dispute)} <span class="badge">{t(STATUS_NAMES[dispute.status])}</span></h1>
      <p><a href={`#/match/${complaint?.matchId}/replay${version}`}>{t("seeReplay")}</a></p>
      <ol class="record">{records.map((it) => <Entry key={it.version} record={it} />)}</ol>
      {evidence?.disputeChanged && <p class="problem" role="alert">{t("disputeChanged")}</p>}
      {evidence && <Evidence evidence={evidence} />}
      {evidence && dispute.status === DisputeStatus.OPEN && <Rule dispute={dispute} evidence={evidence} again={again} />}
      {roles.includes("operator") && dispute.status === DisputeStatus.CORRECTION_PENDING && <Decide dispute={dispute} again={again} />}
    </>
  )
}

/** One entry of the record: who did what, when and why. */
function Entry({ record }: { record: DisputeRecord }): JSX.Element {
  const kind = record.event?.kind
  const name: TextId | undefined =
    kind?.case === "opened" ? "complaint"
    : kind?.case === "ruled" ? (kind.value.ruling === Ruling.UPHELD ? "ruledUpheld" : "ruledRejected")
    : kind?.case === "correctionDecided" ? (kind.value.decision === CorrectionDecision.APPROVED ? "approved" : "declined")
    : undefined
  return (
    <li>
      <b>{name && t(name)}</b> <small>{playerName(record.actorId)} · {timeOf(record.eventTime)}</small>
      <p>{kind?.value?.reason}</p>
      {kind?.case === "ruled" && <Corrections corrections={kind.value.corrections} />}
    </li>
  )
}

function Corrections({ corrections }: { corrections: Correction[] }): JSX.Element | null {
  if (corrections.length === 0) return null
  return <p>{t("corrections")}: {corrections.map((it) => `${playerName(it.playerId)} ${signed(it.coins)}`).join(" · ")}</p>
}

function Evidence({ evidence }: { evidence: DisputeEvidence }): JSX.Element {
  const { before, after, verdict, report, records, ledger, corrected } = evidence
  const view = before?.view ?? after?.view
  const words = view ? records.map((it) => it.record?.event && sentence(view, it.record.event)).filter(Boolean) : []
  return (
    <>
      <section class={`verdict ${verdict?.ok ? "" : "bad"}`}>
        <h2>{t(verdict?.ok ? "verdictOk" : "verdictBad")}</h2>
        {verdict?.illegalPlay && <p>{t("verdictTricky")}</p>}
        <p>{t("clauses")}: {verdict?.clauses.join(", ")}</p>
        <ul>{verdict?.findings.map((it, at) => <li key={at}>{it.clause}: {it.expected} ≠ {it.found}</li>)}</ul>
        <p>{t(report?.ok ? "auditOk" : "auditBad", report?.findings.length ?? 0)}</p>
      </section>
      <section><h2>{t("tableBefore")}</h2>{before ? <Open state={before} /> : <p>{t("noSuchTable")}</p>}</section>
      <section><h2>{t("happened")}</h2><ul>{words.map((it, at) => <li key={at}>{it}</li>)}</ul></section>
      <section><h2>{t("tableAfter")}</h2>{after ? <Open state={after} /> : <p>{t("noSuchTable")}</p>}</section>
      {ledger.length > 0 && (
        <section>
          <h2>{t("coinsOfMatch")}</h2>
          <table>
            <tbody>{ledger.filter((it) => it.playerId).map((it, at) => (
              <tr key={at}><td>{it.version}</td><td>{playerName(it.playerId)}</td><td class="number">{signed(it.coins)}</td></tr>
            ))}</tbody>
          </table>
        </section>
      )}
      {corrected.length > 0 && (
        <section>
          <h2>{t("earlier")}</h2>
          {corrected.map((it) => <div key={it.disputeId}><a href={`#/dispute/${it.disputeId}`}>{subjectOf(it)}</a><Corrections corrections={it.ruled?.corrections ?? []} /></div>)}
        </section>
      )}
    </>
  )
}

/** A table with all cards open. */
function Open({ state }: { state: OpenState }): JSX.Element {
  const view = state.view!
  const role = (seat: number): string =>
    seat === view.attacker ? ` · ${t("attacks")}` : seat === view.defender ? ` · ${t(view.taking ? "takes" : "defends")}` : ""
  return (
    <div class="open-table">
      {view.seats.map((it) => <CardRow key={it.seat} name={nameOfSeat(it) + role(it.seat)} cards={state.seats[it.seat]?.hand ?? []} />)}
      {view.table.map((it) => <CardRow key={it.attackCard} name={t("onTable")} cards={[it.attackCard, ...(it.defence ? [it.defence.card] : [])]} />)}
      {state.stock.length > 0 && <CardRow name={`${t("stock")}: ${state.stock.length}`} cards={state.stock} />}
    </div>
  )
}

interface ActionProps {
  dispute: Dispute
  again: () => void
}

/** The ruling of an auditor, with corrections at a staked table. */
function Rule({ dispute, evidence, again }: ActionProps & { evidence: DisputeEvidence }): JSX.Element {
  const view = evidence.after?.view ?? evidence.before?.view
  const players = view?.settings?.stakeCoins ? view.seats.filter((it) => it.playerId) : []
  const send = (command: Command, given: FormData): Promise<unknown> => {
    const corrections = players
      .map(({ playerId }) => ({ playerId, coins: BigInt(Math.trunc(Number(given.get(`coins ${playerId}`)))) }))
      .filter((it) => it.coins !== 0n)
    return disputes.ruleOnDispute({ ...command, ruling: Number(given.get("ruling")), corrections })
  }
  return (
    <Act name="rule" dispute={dispute} again={again} send={send}>
      <label>{t("ruling")} <select name="ruling">
        <option value={Ruling.REJECTED}>{t("dRejected")}</option>
        <option value={Ruling.UPHELD}>{t("dUpheld")}</option>
      </select></label>
      {players.length > 0 && <p>{t("correctionsHint")}</p>}
      {players.map((it) => (
        <label key={it.seat} class="pair-field">{nameOfSeat(it)} <input name={`coins ${it.playerId}`} type="number" step="1" defaultValue="0" /></label>
      ))}
    </Act>
  )
}

/** The decision of an operator on corrections. */
function Decide({ dispute, again }: ActionProps): JSX.Element {
  const send = (command: Command, given: FormData): Promise<unknown> =>
    disputes.decideCorrection({ ...command, decision: Number(given.get("decision")) })
  return (
    <Act name="decide" dispute={dispute} again={again} send={send}>
      <label>{t("decision")} <select name="decision">
        <option value={CorrectionDecision.APPROVED}>{t("approved")}</option>
        <option value={CorrectionDecision.DECLINED}>{t("declined")}</option>
      </select></label>
    </Act>
  )
}

/** What a ruling and a decision have in common. */
interface Command {
  disputeId: string
  requestId: string
  expectedVersion: number
  reason: string
}

interface ActProps extends ActionProps {
  name: "rule" | "decide"
  send: (command: Command, given: FormData) => Promise<unknown>
  children: ComponentChildren
}

/** The form of a command on a dispute. It is sent once; after a refusal the next one is a new command. */
function Act({ name, dispute, again, send, children }: ActProps): JSX.Element {
  const id = useRef(requestId())
  const [problem, setProblem] = useState("")
  const submit = async (given: FormData): Promise<void> => {
    const { disputeId, version } = dispute
    const command = { disputeId, requestId: id.current, expectedVersion: version, reason: String(given.get("reason")) }
    try {
      await answered(() => send(command, given))
      again()
    } catch (error) {
      setProblem(textOf(error))
    }
    id.current = requestId()
  }
  return (
    <form class="stack panel" onSubmit={(it) => void submitted(it, submit)}>
      <h2>{t(name)}</h2>
      {children}
      <Reason label="reason" />
      {problem && <p class="problem" role="alert">{problem}</p>}
      <button class="primary">{t(name)}</button>
    </form>
  )
}
