/** The fold against the vectors of the service: docs/vectors, events in, view out. */
import { readdirSync, readFileSync } from "node:fs"
import { fromJson, toJson, type JsonValue } from "@bufbuild/protobuf"
import { describe, expect, test } from "vitest"
import { momentsOf } from "../src/fold"
import { MatchEventSchema } from "../src/gen/durak/v1/match_service_pb"
import { TableViewSchema, type TableView } from "../src/gen/durak/v1/table_pb"

interface Vector {
  viewer: number | null
  steps: { event: JsonValue; view?: JsonValue }[]
}

const VECTORS = new URL("../../../docs/vectors/", import.meta.url)
/** What a replay does not show: the clock, and what the reader could do then. */
const LEFT_OUT = ["lastEventTime", "deadlineTime", "serverTime", "moves", "attacksLeft", "onClock"] as const

function shown(view: TableView): JsonValue {
  for (const field of LEFT_OUT) delete (view as Partial<TableView>)[field]
  return toJson(TableViewSchema, { ...view, onClock: [] })
}

describe.each(readdirSync(VECTORS).filter((it) => it.endsWith(".json")))("%s", (name) => {
  const vector = JSON.parse(readFileSync(new URL(name, VECTORS), "utf8")) as Vector
  const events = vector.steps.map((it) => fromJson(MatchEventSchema, it.event).event!)
  const views = vector.steps.flatMap((it, at) => (it.view ? [[at, fromJson(TableViewSchema, it.view)] as const] : []))
  const moments = momentsOf(views[0]![1].matchId, events, vector.viewer ?? undefined)

  test.each(views)("the table after event %i", (at, view) => {
    expect(shown(moments[at]!.view)).toEqual(shown(view))
  })
})
