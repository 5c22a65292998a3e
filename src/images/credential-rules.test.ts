import assert from "node:assert/strict"
import { test } from "node:test"
import { normalizeOciReference, type OciReference } from "#contract"
import { CredentialRules, type ImageUser, parseCredentials } from "./credential-rules.ts"

const entry = { registry: "ghcr.io", username: "robot", password: "s3cret", for: ["group:vision"] }
const reference = (text: string) => normalizeOciReference(text) as OciReference
const ann: ImageUser = { userName: "ann", groupNames: ["vision"] }
const bob: ImageUser = { userName: "bob", groupNames: [] }

test("credentials apply to the people they name, at their registry and below their path", () => {
  const credentials = new CredentialRules(
    parseCredentials(
      JSON.stringify([
        entry,
        { ...entry, registry: "Registry.lan:5000", path: "team", username: "everybody", for: ["everyone"] },
        { ...entry, registry: "registry.lan:5000", path: "team/secret", username: "bobs", for: ["user:bob"] },
        { ...entry, registry: "index.docker.io", path: "acme", for: [] },
      ]),
    ),
  )
  const who = (person: ImageUser, image: string) => credentials.credentialsFor(person, reference(image))?.username
  assert.equal(who(ann, "ghcr.io/any/thing"), "robot")
  assert.equal(who(bob, "ghcr.io/any/thing"), undefined)
  assert.equal(who(ann, "GHCR.IO/any/thing"), "robot")
  assert.equal(who(ann, "ghcr.io:444/any/thing"), undefined)
  assert.equal(who(ann, "ghcr.io.evil.dev/any/thing"), undefined)
  assert.equal(who(ann, "registry.lan:5000/team/x"), "everybody")
  assert.equal(who(ann, "registry.lan:5000/teams/x"), undefined)
  assert.equal(who(bob, "registry.lan:5000/team/secret"), "bobs")
  assert.equal(who(ann, "registry.lan:5000/team/secret/x"), "everybody")
  const guarded = (image: string) => credentials.hasRuleFor(reference(image))
  assert.deepEqual(["ghcr.io/a/b", "acme/x", "docker.io/acme/x", "acme", "quay.io/a/b"].map(guarded), [true, true, true, false, false])
})

test("the error for an invalid credentials file names the entry and shows no value", () => {
  const wrong: [string, RegExp][] = [
    ["{s3cret", /^it is not JSON$/],
    [JSON.stringify(entry), /^a list of entries is wanted/],
    ['"s3cret"', /^a list of entries is wanted; got "a text"/],
    [JSON.stringify([entry, { ...entry, password: 5 }]), /^entry 2 needs a text as its password$/],
    [JSON.stringify([{ ...entry, registry: "https://ghcr.io" }]), /^entry 1 needs a registry such as/],
    [JSON.stringify([{ ...entry, registry: "ghcr" }]), /^entry 1 needs a registry such as/],
    [JSON.stringify([{ ...entry, path: "a@s3cret" }]), /^entry 1 needs a registry such as/],
    [JSON.stringify([{ ...entry, for: ["s3cret"] }]), /^entry 1 needs a list "for"/],
    [JSON.stringify([{ ...entry, for: undefined }]), /^entry 1 needs a list "for"/],
    [JSON.stringify([{ ...entry, user: "s3cret" }]), /^entry 1 has an unknown member/],
    [JSON.stringify(["s3cret"]), /^entry 1 must be a JSON object/],
  ]
  for (const [text, message] of wrong) {
    assert.throws(
      () => parseCredentials(text),
      (error: Error) => {
        assert.match(error.message, message)
        assert.doesNotMatch(error.message, /s3cret/)
        return true
      },
    )
  }
})
