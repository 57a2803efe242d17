/** The news that a player keeps: each once, in order, and only what still asks for something. */
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { describe, expect, test } from "vitest"
import { PlayerNewsSchema, WatchPlayerResponseSchema } from "../src/gen/durak/v1/feed_service_pb"
import { TransferKind } from "../src/gen/durak/v1/wallet_service_pb"
import { EMPTY, keyOf, offerOf, received, restored, stored, type Inbox } from "../src/inbox"

type Kind = NonNullable<MessageInitShape<typeof PlayerNewsSchema>["kind"]>

/** The inbox of Anna after messages, each with one position and these kinds of news. */
function after(...messages: Kind[][]): Inbox {
  return messages.reduce((inbox, kinds, at) => {
    const news = kinds.map((kind) => ({ kind }))
    return received(inbox, create(WatchPlayerResponseSchema, { position: `p${at + 1}`, news }), "anna")
  }, EMPTY)
}
const turn = (matchId: string, version: number): Kind => ({ case: "yourTurn", value: { matchId, version } })
const seat = (matchId: string, playerId: string): Kind => ({ case: "seatTaken", value: { matchId, version: 2, playerId } })
const coins = (number: bigint, kind: TransferKind): Kind => ({ case: "coinsMoved", value: { number, kind, coins: 5n } })
const keys = (inbox: Inbox): string[] => inbox.news.map(keyOf)

describe("the inbox", () => {
  test("has the newest first, and the position of the last message", () => {
    const inbox = after([{ case: "invitation", value: { matchId: "a", version: 1 } }], [turn("b", 7)], [])
    expect(keys(inbox)).toEqual(["yourTurn b 7", "invitation a 1"])
    expect(inbox.position).toBe("p3")
  })

  test("does not change with a heartbeat", () => {
    const before = after([turn("a", 1)])
    expect(received(before, create(WatchPlayerResponseSchema, { position: "p2" }), "anna").news).toBe(before.news)
  })

  test("has one turn of each match, and none of a match that is over", () => {
    expect(keys(after([turn("a", 1)], [turn("b", 1)], [turn("a", 5)]))).toEqual(["yourTurn a 5", "yourTurn b 1"])
    const over: Kind = { case: "matchOver", value: { matchId: "a", version: 9 } }
    expect(keys(after([turn("a", 5), turn("b", 1)], [over]))).toEqual(["matchOver a 9", "yourTurn b 1"])
  })

  test("offers a rematch until the player takes the seat", () => {
    const offered: Kind = { case: "rematchOffered", value: { matchId: "new", rematchOf: "old", version: 1 } }
    expect(offerOf(after([offered], [seat("new", "boris")]), "old")).toBe("new")
    expect(offerOf(after([offered]), "other")).toBeUndefined()
    expect(offerOf(after([offered], [seat("new", "anna")]), "old")).toBeUndefined()
    expect(offerOf(after([offered], [{ case: "matchOver", value: { matchId: "new", version: 4 } }]), "old")).toBeUndefined()
  })

  test("leaves out what the player did, its coins, bots, and unknown kinds", () => {
    const own: Kind = { case: "seatVacated", value: { matchId: "a", version: 3, playerId: "anna" } }
    expect(keys(after([seat("a", "anna"), seat("a", ""), own, coins(2n, TransferKind.STAKE), coins(3n, TransferKind.POST), { case: undefined }]))).toEqual([])
    const removed: Kind = { case: "seatVacated", value: { matchId: "a", version: 3, playerId: "anna", removed: true } }
    expect(keys(after([seat("a", "boris"), removed, coins(4n, TransferKind.PAYOUT)]))).toEqual(["coins 4", "seatVacated a 3", "seatTaken a 2"])
  })

  test("keeps the last fifty", () => {
    const inbox = after(Array.from({ length: 60 }, (_, at) => turn(`m${at}`, 1)))
    expect(inbox.news).toHaveLength(50)
    expect(keys(inbox)[0]).toBe("yourTurn m59 1")
  })

  test("is the same after it was stored", () => {
    const inbox = after([turn("a", 1), coins(1n, TransferKind.GRANT)])
    expect(restored(stored(inbox))).toEqual(inbox)
    expect(restored(null)).toEqual(EMPTY)
    expect(restored("{")).toEqual(EMPTY)
  })
})
