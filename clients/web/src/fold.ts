/**
 * The table after each event, computed from events alone, for replays. Events say all that happened, so the fold knows
 * only who attacks next (R7.4), who defends (R4.1, R6.2) and what a seat draws.
 */
import { clone, create } from "@bufbuild/protobuf"
import type { Event } from "./gen/durak/v1/events_pb"
import { DefenceSchema, Phase, SeatViewSchema, TableCardSchema, TableViewSchema, type TableView } from "./gen/durak/v1/table_pb"

const HIDDEN = 0
const HAND_SIZE = 6
const BOUTS_WITHOUT_DISCARD_MAX = 50 // R9.5

export interface Moment {
  /** As the service sends it to this reader, without moves, deadlines, the clock and `attacks_left`. */
  view: TableView
  /** The cards of each seat; 0 for a card that the reader cannot see. */
  hands: number[][]
}

/** Return the table after each event, as `seat` sees it. `events` start at version 1. Undefined: a spectator. */
export function momentsOf(matchId: string, events: Event[], seat?: number): Moment[] {
  const fold = new Fold(matchId, seat)
  return events.map((event) => fold.apply(event))
}

class Fold {
  private readonly view = create(TableViewSchema)
  private hands: number[][] = []
  private leader: number | undefined

  constructor(matchId: string, seat: number | undefined) {
    this.view.matchId = matchId
    if (seat !== undefined) this.view.yourSeat = seat
  }

  apply(event: Event): Moment {
    this.view.version++
    this.fold(event)
    for (const seat of this.view.seats) seat.cardCount = this.hands[seat.seat]?.length ?? 0
    this.view.hand = this.hands[this.view.yourSeat ?? -1]?.toSorted((a, b) => a - b) ?? []
    return { view: clone(TableViewSchema, this.view), hands: this.hands.map((it) => it.toSorted((a, b) => a - b)) }
  }

  private fold({ kind }: Event): void {
    const { view } = this
    switch (kind.case) {
      case "tableOpened": {
        const { settings, rulesVersion, ownerId, serverSeedHash, rematchOf, reservedFor, isPrivate, invited } = kind.value
        Object.assign(view, { settings, rulesVersion, ownerId, serverSeedHash, rematchOf, reservedFor, isPrivate, invited })
        view.phase = Phase.WAITING
        view.seats = Array.from({ length: settings!.seats }, (_, seat) => create(SeatViewSchema, { seat }))
        break
      }
      case "seatTaken": {
        const { seat, playerId, displayName, botLevel, clientSeedHash } = kind.value
        Object.assign(view.seats[seat]!, { taken: true, playerId, displayName, botLevel, clientSeedHash })
        const isFull = view.seats.every((it) => it.taken)
        if (isFull && view.seats.some((it) => it.clientSeedHash.length)) view.phase = Phase.REVEALING
        break
      }
      case "seatVacated":
        view.seats[kind.value.seat] = create(SeatViewSchema, { seat: kind.value.seat })
        break
      case "seedRevealed":
        view.seats[kind.value.seat]!.clientSecret = kind.value.secret
        break
      case "dealt":
        this.hands = kind.value.hands.map((it) => [...it.cards])
        view.phase = Phase.PLAYING
        view.trumpCard = kind.value.trumpCard
        view.trumpSuit = 1 + Math.floor((kind.value.trumpCard - 1) / 13)
        view.stockCount = kind.value.stock.length
        view.bout = 0
        this.startBout(kind.value.firstAttacker)
        break
      case "attacked":
        if (view.table.length === 0) this.setRoles(kind.value.seat)
        this.attack(kind.value.seat, kind.value.card)
        break
      case "transferred":
        this.attack(kind.value.seat, kind.value.card)
        this.setRoles(kind.value.seat)
        break
      case "defended": {
        const { seat, attackCard, card } = kind.value
        const pair = view.table.find((it) => it.attackCard === attackCard)!
        pair.defence = create(DefenceSchema, { card, seat, version: view.version })
        this.played(seat, card)
        break
      }
      case "passed":
        this.acted(kind.value.seat)
        view.seats[kind.value.seat]!.passed = true
        break
      case "takeDeclared":
        this.acted(kind.value.seat)
        view.taking = true
        break
      case "challenged":
        this.acted(kind.value.seat)
        break
      case "took":
        this.hands[kind.value.seat]!.push(...kind.value.cards)
        view.boutsWithoutDiscard++
        this.closeBout(kind.value.seat === view.defender ? undefined : view.defender!)
        break
      case "discarded":
        view.discardCount += kind.value.cards.length
        view.boutsWithoutDiscard = 0
        this.closeBout(view.defender!)
        break
      case "drew":
        for (const { seat, cards } of kind.value.draws) {
          this.hands[seat]!.push(...cards)
          view.stockCount -= cards.length
        }
        this.startBoutIfSettled()
        break
      case "wentOut":
        for (const seat of kind.value.seats) view.seats[seat]!.place = kind.value.place
        this.startBoutIfSettled()
        break
      case "timedOut":
        view.seats[kind.value.seat]!.timeoutsInARow++
        this.timedOut = kind.value.seat
        break
      case "finished":
        view.phase = Phase.ENDED
        view.taking = false
        delete view.attacker
        delete view.defender
        view.result = kind.value
    }
  }

  private timedOut: number | undefined

  /** A seat that acts by itself starts its timeouts again; a server that acts for it does not (R10.3). */
  private acted(seat: number): void {
    if (this.timedOut === undefined) this.view.seats[seat]!.timeoutsInARow = 0
    this.timedOut = undefined
  }

  private attack(seat: number, card: number): void {
    this.view.table.push(create(TableCardSchema, { attackCard: card, attackSeat: seat, attackVersion: this.view.version }))
    this.played(seat, card)
  }

  private played(seat: number, card: number): void {
    const hand = this.hands[seat]!
    const at = hand.indexOf(card)
    hand.splice(at < 0 ? hand.indexOf(HIDDEN) : at, 1)
    for (const it of this.view.seats) it.passed = false
    this.acted(seat)
  }

  private next(seat: number): number {
    const { seats } = this.view
    for (let step = 1; step < seats.length; step++) {
      const found = (seat + step) % seats.length
      if (seats[found]!.place === undefined) return found
    }
    return seat
  }

  private setRoles(attacker: number): void {
    this.view.attacker = attacker
    this.view.defender = this.next(attacker)
  }

  private startBout(leader: number): void {
    this.view.bout!++
    this.setRoles(leader)
  }

  /** `leader` attacks next. Undefined: the seat after the defender. */
  private closeBout(leader: number | undefined): void {
    this.leader = leader
    this.view.table = []
    this.view.taking = false
    for (const it of this.view.seats) it.passed = false
    this.startBoutIfSettled()
  }

  /** The next bout starts after the draws (R8) and after seats went out (R9), if the match goes on. */
  private startBoutIfSettled(): void {
    const { view } = this
    const inPlay = view.seats.filter((it) => it.place === undefined).map((it) => this.hands[it.seat]!.length)
    const draws = view.stockCount > 0 && Math.min(...inPlay) < HAND_SIZE
    const outs = view.stockCount === 0 && inPlay.includes(0)
    if (draws || outs || inPlay.length < 2 || view.boutsWithoutDiscard >= BOUTS_WITHOUT_DISCARD_MAX) return
    const isIn = this.leader !== undefined && view.seats[this.leader]!.place === undefined
    this.startBout(isIn ? this.leader! : this.next(this.leader ?? view.defender!))
  }
}
