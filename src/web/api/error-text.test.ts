import assert from "node:assert/strict"
import { test } from "node:test"
import { Failure } from "#contract"
import { errorText, toSentence } from "./error-text.ts"

test("a refusal becomes its toSentence, its field and the hint of its code", () => {
  const { title, hint, field } = errorText(new Failure("stale", "The object was changed meanwhile: read it again", { field: "Name" }))
  assert.equal(title, "The object was changed meanwhile: read it again.")
  assert.match(hint ?? "", /changed it meanwhile/)
  assert.equal(field, "Name")
})

test("the hint of a failed start comes from its reason", () => {
  const extra = { ID: 5, Reason: { code: "oom_killed", msg: "m", hint: "Start the project with more memory" } }
  assert.equal(errorText(new Failure("oom_killed", "m", { extra })).hint, "Start the project with more memory.")
})

test("a refusal that says what to do gets no second hint", () => {
  const why = "ann may store 1 GiB and stores 1 GiB"
  assert.match(errorText(new Failure("storage_full", why)).hint ?? "", /Delete files/)
  assert.equal(errorText(new Failure("storage_full", `${why}. Delete files, or ask an administrator for more`)).hint, undefined)
})

test("only internal errors show the request's number", () => {
  const extra = { requestId: "r-1" }
  assert.equal(errorText(new Failure("internal", "Something went wrong", { extra })).requestId, "r-1")
  assert.equal(errorText(new Failure("not_found", "There is no such run", { extra })).requestId, undefined)
})

test("a lost connection is named, and a fault of the page is not mistaken for one", () => {
  assert.match(errorText(new TypeError("Failed to fetch")).title, /server cannot be reached/)
  assert.match(errorText(new TypeError("NetworkError when attempting to fetch resource.")).title, /server cannot be reached/)
  assert.doesNotMatch(errorText(new TypeError("x is not a function")).title, /server/)
  assert.equal(errorText("plain").hint, "plain")
})

test("a toSentence gets one period", () => {
  assert.deepEqual(["It ended", "It ended.", "Why?", "Wait…"].map(toSentence), ["It ended.", "It ended.", "Why?", "Wait…"])
})

test("a text of the server names no call of the API and has the units of the pages", () => {
  assert.equal(toSentence("Ask for less memory; `GET /capacity` shows the nodes"), "Ask for less memory.")
  assert.equal(
    toSentence("No node has 100000 MiB of memory for runs; the largest has 512 MiB"),
    "No node has 97.7 GiB of memory for runs; the largest has 512 MiB.",
  )
  assert.equal(toSentence("Build it again with `docker build`"), "Build it again with `docker build`.")
})
