import assert from "node:assert/strict"
import { test } from "node:test"
import { uncountedBytes } from "#engine"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { LayerGrowth } from "./layer-growth.ts"

test("a layer that cannot be counted grew most, even if it could not be counted before", async () => {
  const bytesOf: Record<string, number> = { slow: uncountedBytes + 5, fast: 100 }
  const layers = new Map(Object.entries(bytesOf).map(([key, bytes]) => [key, { bytes, maxMiB: null }]))
  const engine = { freeDisk: async () => 10, writableLayers: async () => layers }
  const rows = Object.keys(bytesOf).map((key) => ({ key }) as RunRow)
  const usage = { layerOf: ({ key }: RunRow) => ({ bytes: key === "slow" ? uncountedBytes : 40, maxMiB: null }) }
  const ctx = { closed: new AbortController().signal, engine, logger: console } as unknown as RunsContext
  const growth = new LayerGrowth(ctx, usage)
  growth.resetBaseline(rows)
  const inLayers = await growth.measureGrowth({ freeBytes: 10, totalBytes: 1_000, reserveBytes: 100, isLow: true })
  assert.deepEqual(rows.map(inLayers), [Number.POSITIVE_INFINITY, 60])
})
