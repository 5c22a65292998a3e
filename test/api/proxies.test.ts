import assert from "node:assert/strict"
import { test } from "node:test"
import { basicAuth } from "#client"
import { createLogger } from "#kit"
import { adminPassword, startTestServer, type TestServer } from "../test-server.ts"
import { type AnyObject, sendRequest } from "./http-client.ts"

const admin = basicAuth("admin", adminPassword)
/** The three addresses that accept a password. */
const passwordEndpoints = (server: TestServer): [string, string, string][] => [
  ["base", server.quayside.baseUrl, "/whoami"],
  ["apps", server.quayside.appsUrl, "/run/1/"],
  ["files", server.quayside.filesUrl, "/users/admin/"],
]
const maxAttempts = 10

/** The statuses of wrong passwords for one name, each forwarded for the next of these addresses. */
async function trySignIns(endpoint: readonly [string, string, string], from: readonly string[]): Promise<number[]> {
  const [name, url, path] = endpoint
  const statuses: number[] = []
  for (const address of from) {
    const answer = await sendRequest(url, "GET", path, {
      as: basicAuth(`nobody-${name}`, "wrong"),
      headers: { "x-forwarded-for": address },
    })
    statuses.push(answer.status)
  }
  return statuses
}

const addresses = (address: (i: number) => string) => Array.from({ length: maxAttempts + 1 }, (_, i) => address(i))

test("all three addresses use the client address from a trusted proxy", async () => {
  await using server = await startTestServer({ "trusted-proxies": "127.0.0.1,10.0.0.0/8" })
  for (const endpoint of passwordEndpoints(server)) {
    const statusesOfCrowd = await trySignIns(
      endpoint,
      addresses((i) => `203.0.113.${i}`),
    )
    assert.deepEqual(new Set(statusesOfCrowd), new Set([401]), `${endpoint[0]}: people behind one proxy are throttled separately`)
    const one = await trySignIns(
      endpoint,
      addresses((i) => `6.6.6.${i}, 198.51.100.7, 10.1.1.${i}`),
    )
    assert.equal(one.at(-1), 429, `${endpoint[0]}: forged addresses in the header do not evade the throttle`)
  }
  const headers = { "x-forwarded-for": "6.6.6.6, 198.51.100.9, 10.1.1.1" }
  await sendRequest(server.quayside.baseUrl, "POST", "/image", { as: admin, body: { Name: "audited", Image: "b" }, headers })
  const { body } = await sendRequest(server.quayside.baseUrl, "GET", "/audit?Action=image.created", { as: admin })
  assert.equal(((body.data as unknown as AnyObject[])[0] as AnyObject).Address, "198.51.100.9")
})

test("X-Forwarded-For is ignored without a trusted proxy, at all three addresses", async () => {
  await using server = await startTestServer()
  for (const endpoint of passwordEndpoints(server)) {
    const statusesOfCrowd = await trySignIns(
      endpoint,
      addresses((i) => `203.0.113.${i}`),
    )
    assert.equal(statusesOfCrowd.at(-1), 429, endpoint[0])
  }
})

test("a loopback caller with X-Forwarded-For from elsewhere is not trusted as loopback, and is logged", async () => {
  for (const trusted of ["", "127.0.0.1"]) {
    const lines: string[] = []
    const logger = createLogger("warn", (line) => lines.push(line))
    await using server = await startTestServer(trusted === "" ? {} : { "trusted-proxies": trusted }, logger)
    const metricsStatus = async (headers: Record<string, string>) =>
      (await sendRequest(server.quayside.baseUrl, "GET", "/metrics", { headers })).status
    assert.equal(await metricsStatus({}), 200)
    assert.deepEqual(lines, [])
    assert.equal(await metricsStatus({ "x-forwarded-for": "203.0.113.9", "x-request-id": "spoofed" }), 401)
    assert.equal(await metricsStatus({ forwarded: "for=203.0.113.9" }), 401)
    const warnings = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.includes("forwarded"))
    assert.deepEqual(
      warnings.map(({ level }) => level),
      ["warn", "warn"],
    )
    assert.equal(warnings[0].requestId, "spoofed")
    assert.equal(warnings[0].address, trusted === "" ? "127.0.0.1" : "203.0.113.9")
  }
})
