import assert from "node:assert/strict"
import { test } from "node:test"
import { isKnown, plotData, rangeStart, type UsageSample, withRates } from "./plot-data.ts"

const at = (seconds: number, more: Partial<UsageSample> = {}) => ({ Time: new Date(seconds * 1000).toISOString(), ...more }) as UsageSample

test("lines of a plot break where figures are missing", () => {
  const series = [at(0, { Cpus: 1 }), at(10, { Cpus: 2 }), at(20, { Cpus: 3 }), at(100, { Cpus: 4 })]
  assert.deepEqual(plotData(series, [({ Cpus }) => Cpus]), { times: [0, 10, 20, 30, 100], columns: [[1, 2, 3, null, 4]] })
  assert.deepEqual(plotData([], [({ Cpus }) => Cpus]), { times: [], columns: [[]] })
})

test("traffic becomes a rate, which is unknown at the first figure and after a restart", () => {
  const series = [at(0, { NetworkIn: 100 }), at(10, { NetworkIn: 600 }), at(20, { NetworkIn: 50 }), at(30, { NetworkIn: null })]
  assert.deepEqual(
    withRates(series.map((usage) => ({ ...usage, NetworkOut: null }))).map(({ NetworkIn }) => NetworkIn),
    [null, 50, null, null],
  )
})

test("a figure that is never known has no plot", () => {
  assert.equal(
    isKnown([at(0, { GpuBusy: null }), at(10, { GpuBusy: 0 })], ({ GpuBusy }) => GpuBusy),
    true,
  )
  assert.equal(
    isKnown([at(0, { GpuBusy: null })], ({ GpuBusy }) => GpuBusy),
    false,
  )
})

test("a range begins so many hours before now or the run's end, and never before the run", () => {
  const now = new Date("2030-01-02T12:00:00.000Z")
  const run = { StartTime: "2030-01-02T06:00:00.000Z", EndTime: null }
  assert.equal(rangeStart("hour", run, now), "2030-01-02T11:00:00.000Z")
  assert.equal(rangeStart("day", run, now), run.StartTime)
  assert.equal(rangeStart("all", run, now), run.StartTime)
  assert.equal(rangeStart("hour", { ...run, EndTime: "2030-01-02T08:00:00.000Z" }, now), "2030-01-02T07:00:00.000Z")
})
