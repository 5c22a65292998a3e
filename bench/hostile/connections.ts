import { IdleConnections } from "../../test/fixtures/idle-connections.ts"
import type { Attack } from "./attack.ts"

const from = "127.0.0.2"
const portOf = (url: string) => Number(new URL(url).port)

const slowBody =
  "POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n10000\r\n" +
  " ".repeat(60_000)

async function crowdAt(port: number, count: number, text: string): Promise<IdleConnections> {
  const crowd = new IdleConnections({ port, from, say: () => text })
  await crowd.add(count)
  return crowd
}

export const attacks: readonly Attack[] = [
  { name: "3,000 idle connections of one address at the API", begin: ({ baseUrl }) => crowdAt(portOf(baseUrl), 3_000, "") },
  {
    name: "3,000 slow heads of one address at the gateway",
    begin: ({ appsUrl }) => crowdAt(portOf(appsUrl), 3_000, "GET / HTTP/1.1\r\nHo"),
  },
  { name: "3,000 idle connections of one address at files", begin: ({ filesUrl }) => crowdAt(portOf(filesUrl), 3_000, "") },
  { name: "2,500 slow POST /session with 60 KB each", begin: ({ baseUrl }) => crowdAt(portOf(baseUrl), 2_500, slowBody) },
]
