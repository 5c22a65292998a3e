import assert from "node:assert/strict"
import { test } from "node:test"
import type { ReasonCode } from "#contract"
import { toPullError } from "./pull-errors.ts"

const reference = { host: "registry.lan:5000", path: "lab/tool", tag: "1", digest: "" }

/** Messages of daemons from 20.10 on. */
const refusals: [ReasonCode, string, RegExp][] = [
  ["disk_full", "write /var/lib/docker/tmp/GetImageBlob1: no space left on device", /disk of the container engine is full/],
  ["image_not_found", "manifest for 127.0.0.1:5000/a:latest not found: manifest unknown: manifest unknown", /^Neither the engine nor/],
  ["image_not_found", "error pulling image configuration: download failed after attempts=1: unknown blob", /^Neither the engine nor/],
  ["wrong_architecture", "no matching manifest for linux/arm64/v8 in the manifest list entries", /other kinds of processor/],
  [
    "image_pull_denied",
    "pull access denied for a, repository does not exist or may require 'docker login': denied: requested access to the resource is denied",
    /does not have the image .*, or refuses to hand it out$/,
  ],
  ["image_pull_denied", 'Head "https://x/v2/a/manifests/latest": unauthorized: authentication required', /refused to hand out/],
  ["image_pull_failed", 'Get "https://registry.lan:5000/v2/": dial tcp: lookup registry.lan: no such host', /cannot be resolved$/],
  ["image_pull_failed", "toomanyrequests: You have reached your pull rate limit", /asks to wait/],
  ["image_pull_failed", "received unexpected HTTP status: 502 Bad Gateway", /an error of its own$/],
  ["image_pull_failed", "dial tcp 127.0.0.1:34521: connect: connection refused", /cannot be reached$/],
  ["image_pull_failed", "unexpected EOF", /cannot be reached$/],
  ["image_pull_failed", "x509: certificate signed by unknown authority", /does not trust the connection/],
  ["image_pull_failed", "something that nobody has seen", /could not be fetched from the registry/],
]

for (const [code, message, sentence] of refusals) {
  test(`a registry's "${message.slice(0, 60)}" is ${code}, and the sentence names image and registry`, () => {
    const error = toPullError(new Error(message), reference)
    assert.equal(error.code, code)
    assert.match(error.message, sentence)
    assert.ok(error.message.includes("registry.lan:5000/lab/tool:1") && !error.message.includes(message))
    assert.equal(error.detail, message)
  })
}

test("a socket that is missing or refuses during a pull is engine_unreachable", () => {
  for (const code of ["ENOENT", "ECONNREFUSED", "EACCES", "ECONNRESET"])
    assert.equal(toPullError(Object.assign(new Error("connect"), { code }), reference).code, "engine_unreachable")
})
