import assert from "node:assert/strict"
import { test } from "node:test"
import { emptyImageInfo } from "#engine"
import { suggestTypes } from "./suggested-types.ts"

test("an image suggests the types whose port it exposes or whose program it names", () => {
  assert.deepEqual(suggestTypes("debian", emptyImageInfo), ["http"])
  assert.deepEqual(suggestTypes("debian", { ...emptyImageInfo, ports: ["6080/tcp", "53/udp"] }), ["novnc", "http"])
  assert.deepEqual(suggestTypes("codercom/code-server:4", emptyImageInfo), ["vscode", "http"])
  assert.deepEqual(suggestTypes("x", { ...emptyImageInfo, command: ["start-notebook.py", "--ServerApp"], ports: ["8888/tcp"] }), [
    "jupyter",
    "jupyterlab",
    "jupyternotebook",
    "http",
  ])
})
