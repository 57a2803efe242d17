/** The tables of the lobby after a snapshot and changes. */
import { create } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { expect, test } from "vitest"
import { boardAfter, tablesOf, type Board } from "../src/board"
import { WatchLobbyResponseSchema } from "../src/gen/durak/v1/feed_service_pb"
import { MatchSummarySchema, type MatchSummary } from "../src/gen/durak/v1/match_service_pb"

const table = (matchId: string, second: number, version = 1): MatchSummary =>
  create(MatchSummarySchema, { matchId, version, openTime: timestampFromMs(second * 1000) })
const after = (board: Board, message: { added?: MatchSummary[]; changed?: MatchSummary[]; removedMatchIds?: string[] }): Board =>
  boardAfter(board, create(WatchLobbyResponseSchema, message))
const shown = (board: Board): string[] => tablesOf(board).map((it) => `${it.matchId}${it.version}`)

test("tables come, change and go, the newest first", () => {
  const snapshot = after(after(new Map(), { added: [table("c", 3), table("b", 2)] }), { added: [table("a", 1)] })
  expect(shown(snapshot)).toEqual(["c1", "b1", "a1"])
  expect(shown(after(snapshot, { added: [table("d", 4)], changed: [table("b", 2, 5)], removedMatchIds: ["c"] }))).toEqual(["d1", "b5", "a1"])
  expect(after(snapshot, {})).toBe(snapshot)
})

test("a table that leaves the list and comes back in one message is in it", () => {
  const snapshot = after(new Map(), { added: [table("a", 1)] })
  expect(shown(after(snapshot, { added: [table("a", 1, 3)], removedMatchIds: ["a"] }))).toEqual(["a3"])
})
