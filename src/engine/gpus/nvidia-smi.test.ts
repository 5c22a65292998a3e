import assert from "node:assert/strict"
import { test } from "node:test"
import { captures, fields, ids, messages, unreadable } from "../../../test/fixtures/docker/nvidia-smi-output.ts"
import { parseReadings } from "./nvidia-smi.ts"

const mib = 2 ** 20
const faultsOf = (text: string) => parseReadings(text, fields).readings.map(({ id, fault }) => [id, fault])

test("captured output gives the name, the memory and the load of each device", () => {
  const { readings, message } = parseReadings(captures.h100 + captures.rtx2080 + captures.l40s, fields)
  assert.equal(message, undefined)
  const healthy = { fault: undefined }
  assert.deepEqual(readings, [
    { ...healthy, id: ids.h100, model: "NVIDIA H100 80GB HBM3", memoryMiB: 81_559, memory: 19_818 * mib, busy: 1 },
    { ...healthy, id: ids.rtx2080, model: "NVIDIA GeForce RTX 2080 SUPER", memoryMiB: 8_192, memory: 214 * mib, busy: 0 },
    { ...healthy, id: ids.l40s, model: "NVIDIA L40S", memoryMiB: 46_068, memory: 0, busy: 1 },
  ])
})

test("a device that is split by MIG has a fault and no known load", () => {
  const [reading] = parseReadings(captures.h100Mig, fields).readings
  assert.deepEqual([reading?.busy, reading?.memory], [null, 11_125 * mib])
  assert.match(reading?.fault ?? "", /split into MIG devices/)
})

for (const [word, fault] of [
  ["[GPU is lost]", "it has fallen off the bus"],
  ["[GPU requires reset]", "it needs a reset"],
  ["[Unknown Error]", "its driver reports an unknown error"],
  ["ERR!", "its driver reports an unknown error"],
] as const) {
  test(`a device whose readings are ${word} has a fault, and its neighbour has none`, () => {
    const text = unreadable(ids.h100, "NVIDIA H100 80GB HBM3", word) + captures.rtx2080
    assert.deepEqual(faultsOf(text), [
      [ids.h100, fault],
      [ids.rtx2080, undefined],
    ])
  })
}

test("a device for which the driver asks a recovery has a fault", () => {
  for (const action of ["Reset", "Reboot", "Drain P2P", "Drain and Reset"])
    assert.deepEqual(faultsOf(captures.h100.replace("None", action)), [[ids.h100, `its driver asks for this recovery: ${action}`]])
  for (const none of ["None", "[N/A]", "N/A", "[Not Supported]", "[Unknown Error]"])
    assert.deepEqual(faultsOf(captures.h100.replace("None", none)), [[ids.h100, undefined]])
})

test("a device that shares the host's memory has no known memory and no fault", () => {
  const [reading] = parseReadings(`${ids.h100}, [N/A], [N/A], 3, [N/A], None, NVIDIA GB10\n`, fields).readings
  assert.deepEqual([reading?.memoryMiB, reading?.memory, reading?.busy, reading?.fault], [0, null, 0.03, undefined])
})

test("messages are no devices, and the first one is reported", () => {
  for (const text of [messages.none, messages.driver, messages.mismatch, messages.handle, messages.lost]) {
    const { readings, message } = parseReadings(text, fields)
    assert.deepEqual([readings, message], [[], text.trim()])
  }
  const mixed = parseReadings(messages.handleNewer + captures.rtx2080, fields)
  assert.deepEqual([mixed.readings.length, mixed.message], [1, messages.handleNewer.trim()])
})

test("a comma in a name and a cut line move no other field", () => {
  const [reading] = parseReadings(captures.l40s.replace("L40S", "L40S, special"), fields).readings
  assert.deepEqual([reading?.model, reading?.memoryMiB], ["NVIDIA L40S, special", 46_068])
  assert.deepEqual(parseReadings(`${ids.l40s}, 46068, 0`, fields).readings, [])
})
