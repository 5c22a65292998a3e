import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { connect } from "node:net"
import { networkInterfaces } from "node:os"
import { test } from "node:test"
import { startTestServer } from "../test-server.ts"

/** The addresses at which this process listens on a port, in the kernel's notation. */
function listeningOn(port: number): string[] {
  const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`
  const rows = ["tcp", "tcp6"].flatMap((name) => readFileSync(`/proc/net/${name}`, "utf8").split("\n").slice(1))
  const columns = rows.map((row) => row.trim().split(/\s+/))
  return columns
    .filter(([, local = "", , state]) => state === "0A" && local.endsWith(end))
    .map(([, local = ""]) => local.slice(0, -end.length))
}

const loopback = ["0100007F", "00000000000000000000000001000000"]
const hasIpv6 = Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === "::1"))

test("the server binds each of its three ports on both loopback addresses and on no other", async () => {
  await using server = await startTestServer()
  const { baseUrl, appsUrl, filesUrl } = server.quayside
  for (const url of [baseUrl, appsUrl, filesUrl]) {
    const port = Number(new URL(url).port)
    assert.deepEqual(listeningOn(port).toSorted(), loopback.slice(0, hasIpv6 ? 2 : 1).toSorted(), url)
    for (const host of ["127.0.0.1", ...(hasIpv6 ? ["::1"] : [])]) {
      await new Promise<void>((resolve, reject) => {
        const socket = connect({ host, port }, () => {
          socket.destroy()
          resolve()
        }).on("error", reject)
      })
    }
  }
})
