import assert from "node:assert/strict"
import { test } from "node:test"
import { isLive, type LogLine, runStateNames, runStates } from "#contract"
import { canDo, runActions } from "../../api/run-actions.ts"
import { appendLines, matchingLines, plainLine } from "./log-lines.ts"
import { nextSteps } from "./next-steps.ts"
import { stepsOf } from "./start-steps.ts"
import { endWarnings } from "./warnings.ts"

test("each state offers its actions: a live run can be stopped unless it stops, an ended one starts again", () => {
  for (const State of runStateNames) {
    assert.equal(canDo("stop", { State }), isLive(State) && State !== "stopping", State)
    assert.equal(canDo("repeat", { State }), !isLive(State), State)
    assert.equal(canDo("open", { State }), State === "ready", State)
  }
  assert.deepEqual(Object.keys(runActions), Object.keys(runStates))
})

test("the steps of a start are done up to the present one", () => {
  const statesOf = (state: Parameters<typeof stepsOf>[0]) => stepsOf(state).map((each) => each.state)
  assert.deepEqual(statesOf("queued"), ["current", "ahead", "ahead", "ahead", "ahead"])
  assert.deepEqual(statesOf("creating"), ["done", "done", "current", "ahead", "ahead"])
  assert.deepEqual(statesOf("ready"), ["done", "done", "done", "done", "done"])
})

test("the step after a lack of memory is a start with twice as much", () => {
  const kill = { code: "oom_killed", msg: "m" } as const
  const own = { isOwnProject: true }
  assert.deepEqual(nextSteps(kill, { Memory: 2048, ...own }), [{ kind: "start-with-memory", memory: 4096 }, { kind: "logs" }])
  assert.deepEqual(nextSteps(kill, { Memory: 0, ...own })[0], { kind: "change-resources" })
  assert.deepEqual(nextSteps({ code: "lost" }, { Memory: 1, ...own }), [])
})

test("the step after an image cannot be had is another image, for the project's owner", () => {
  assert.deepEqual(nextSteps({ code: "image_unavailable" }, { Memory: 1, isOwnProject: true }), [{ kind: "image" }])
  assert.deepEqual(nextSteps({ code: "image_unavailable" }, { Memory: 1, isOwnProject: false }), [])
})

test("a run warns of its idle end at once, and of its longest time ten minutes before", () => {
  const now = new Date("2030-01-01T12:00:00Z")
  const at = (minutes: number) => new Date(now.getTime() + minutes * 60_000).toISOString()
  const kinds = (idle: number | null, time: number | null) =>
    endWarnings({ IdleExpiresAt: idle && at(idle), ExpiresAt: time && at(time) } as Parameters<typeof endWarnings>[0], now).map(
      ({ kind }) => kind,
    )
  assert.deepEqual([kinds(null, null), kinds(9, null), kinds(null, 11), kinds(9, 10)], [[], ["idle"], [], ["idle", "time"]])
})

const line = (text: string): LogLine => ({ time: "2030-01-01T12:00:00Z", stream: "stdout", text })

test("a page keeps the newest lines up to its bounds", () => {
  const lines = appendLines([line("1"), line("2")], [line("3"), line("4")], { lines: 3, characters: 100 })
  assert.deepEqual(
    lines.map(({ text }) => text),
    ["2", "3", "4"],
  )
  assert.equal(appendLines(lines, []), lines)
  const long = Array.from({ length: 4_000 }, () => line("x".repeat(16_384)))
  const characters = appendLines([], long).reduce((sum, { text }) => sum + text.length, 0)
  assert.ok(characters > 1_900_000 && characters <= 2_000_000, String(characters))
  assert.equal(appendLines([], [line("1")]).length, 1)
})

test("the search in the output ignores case", () => {
  const lines = [line("Loading Model"), line("done")]
  assert.deepEqual(matchingLines(lines, " MODEL "), [lines[0]])
  assert.equal(matchingLines(lines, " "), lines)
})

test("control sequences of terminals are removed from a line, its text stays", () => {
  assert.equal(plainLine("\u001b[31mred\u001b[0m \u001b]0;title\u0007and\ttab\r"), "red and\ttab")
  assert.equal(plainLine("<b>&amp;</b>"), "<b>&amp;</b>")
})
