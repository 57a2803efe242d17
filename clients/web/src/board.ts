/** The tables of the lobby: a snapshot, and then what changes. */
import { timestampMs } from "@bufbuild/protobuf/wkt"
import type { WatchLobbyResponse } from "./gen/durak/v1/feed_service_pb"
import type { MatchSummary } from "./gen/durak/v1/match_service_pb"

/** The tables by their ids. */
export type Board = ReadonlyMap<string, MatchSummary>

/** Return the board after a message. */
export function boardAfter(board: Board, { added, changed, removedMatchIds }: WatchLobbyResponse): Board {
  if (added.length + changed.length + removedMatchIds.length === 0) return board
  const tables = new Map(board)
  for (const id of removedMatchIds) tables.delete(id)
  for (const it of [...added, ...changed]) tables.set(it.matchId, it)
  return tables
}

/** Return the tables, the newest first. */
export function tablesOf(board: Board): MatchSummary[] {
  const opened = ({ openTime }: MatchSummary): number => (openTime ? timestampMs(openTime) : 0)
  return [...board.values()].sort((a, b) => opened(b) - opened(a) || a.matchId.localeCompare(b.matchId))
}
