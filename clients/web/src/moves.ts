/** What a card of the hand can do now. The service lists the legal moves; a tricky table accepts more (R11.1). */
import type { MessageInitShape } from "@bufbuild/protobuf"
import type { MoveSchema, TableView } from "./gen/durak/v1/table_pb"

export type MoveInit = Exclude<NonNullable<MessageInitShape<typeof MoveSchema>["kind"]>, { case: undefined }>

export interface Use {
  move: MoveInit
  /** False: an illegal play of a tricky table, which counts unless somebody challenges it. */
  legal: boolean
  /** The attack card that it beats. */
  beats?: number
}

/** All uses of a card of the hand, the legal ones first. */
export function usesOf(view: TableView, card: number): Use[] {
  const moves = view.moves
  if (!moves) return []
  const uses: Use[] = []
  const add = (legal: boolean, move: MoveInit, beats?: number): void => void uses.push({ legal, move, beats })
  for (const { attackCard, cards } of moves.defend)
    if (cards.includes(card)) add(true, { case: "defend", value: { attackCard, card } }, attackCard)
  if (moves.attack.includes(card)) add(true, { case: "attack", value: { card } })
  if (moves.transfer.includes(card)) add(true, { case: "transfer", value: { card } })
  if (view.settings?.tricky) cheats(view, card, uses)
  return uses
}

function cheats(view: TableView, card: number, uses: Use[]): void {
  const has = (kind: string, beats?: number): boolean => uses.some((it) => it.move.case === kind && it.beats === beats)
  const open = view.table.filter((it) => !it.defence)
  if (view.yourSeat === view.defender && !view.taking) {
    for (const { attackCard } of open)
      if (!has("defend", attackCard))
        uses.push({ legal: false, move: { case: "defend", value: { attackCard, card } }, beats: attackCard })
    if (view.settings?.transfer && view.table.length && !has("transfer"))
      uses.push({ legal: false, move: { case: "transfer", value: { card } } })
  } else if (view.yourSeat !== view.defender && view.table.length && view.attacksLeft && !has("attack")) {
    uses.push({ legal: false, move: { case: "attack", value: { card } } })
  }
}

export const rankOf = (card: number): number => 2 + ((card - 1) % 13)
export const suitOf = (card: number): number => Math.floor((card - 1) / 13)
