import assert from "node:assert/strict"
import { test } from "node:test"
import { suggestTypes } from "./suggested-types.ts"

const facts = {
  digest: "",
  registryDigest: "",
  size: 0,
  architecture: "",
  user: "",
  entryPoint: [],
  command: [],
  workDir: "",
  ports: [],
  variables: [],
  volumes: [],
}

test("an image suggests the types whose port it exposes or whose program it names", () => {
  assert.deepEqual(suggestTypes("debian", facts), ["http"])
  assert.deepEqual(suggestTypes("debian", { ...facts, ports: ["6080/tcp", "53/udp"] }), ["novnc", "http"])
  assert.deepEqual(suggestTypes("codercom/code-server:4", facts), ["vscode", "http"])
  assert.deepEqual(suggestTypes("x", { ...facts, command: ["start-notebook.py", "--ServerApp"], ports: ["8888/tcp"] }), [
    "jupyter",
    "jupyterlab",
    "jupyternotebook",
    "http",
  ])
})
