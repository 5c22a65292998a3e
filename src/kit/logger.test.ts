import assert from "node:assert/strict"
import { test } from "node:test"
import { createLogger, type LogLevel } from "./logger.ts"

function linesAt(level: LogLevel) {
  const lines: Record<string, unknown>[] = []
  return { lines, logger: createLogger(level, (line) => lines.push(JSON.parse(line))) }
}

test("a line contains time, level, fields and text", () => {
  const { lines, logger } = linesAt("info")
  logger.child({ run: 7 }).info({ state: "ready" }, "moved")
  const { time, ...rest } = lines[0] ?? {}
  assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  assert.deepEqual(rest, { level: "info", run: 7, state: "ready", msg: "moved" })
})

test("lines below the level are not written, and the level silent writes none", () => {
  const { lines, logger } = linesAt("warn")
  logger.debug({}, "a")
  logger.info({}, "b")
  logger.warn({}, "c")
  logger.error({}, "d")
  assert.deepEqual(
    lines.map((line) => line.msg),
    ["c", "d"],
  )
  const silent = linesAt("silent")
  silent.logger.error({}, "e")
  assert.deepEqual(silent.lines, [])
})

test("an error is written with its code, stack and nested causes", () => {
  const { lines, logger } = linesAt("error")
  const cause = Object.assign(new Error("disk"), { code: "ENOSPC" })
  const error = new Error("could not write", { cause })
  cause.cause = error
  logger.error({ err: error, size: 5n }, "failed")
  const { err, size } = lines[0] as { err: { message: string; stack: string; cause: { code: string } }; size: string }
  assert.equal(err.message, "could not write")
  assert.match(err.stack, /logger\.test/)
  assert.equal(err.cause.code, "ENOSPC")
  assert.equal(size, "5")
})
