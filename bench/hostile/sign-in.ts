import { basicAuth } from "#client"
import { IdleConnections } from "../../test/fixtures/idle-connections.ts"
import type { Attack } from "./attack.ts"

/** Some 1,500 requests a second, each over a connection of its own, from many addresses. */
async function flood(url: string, passwordOf?: (i: number) => string): Promise<Disposable> {
  const proof = (i: number) => (passwordOf ? `Authorization: ${basicAuth("admin", passwordOf(i))}\r\n` : "")
  const requestText = (i: number) => `GET /whoami HTTP/1.1\r\nHost: localhost\r\n${proof(i)}Connection: close\r\n\r\n`
  const crowd = new IdleConnections({
    port: Number(new URL(url).port),
    from: (i) => `127.0.${2 + ((i >> 7) & 63)}.${1 + (i & 127)}`,
    say: requestText,
  })
  let isOver = false
  const go = async () => {
    while (!isOver) {
      await crowd.add(10)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  void go()
  return {
    [Symbol.dispose]() {
      isOver = true
      crowd[Symbol.dispose]()
    },
  }
}

export const attacks: readonly Attack[] = [
  { name: "requests without a password from 8,000 addresses, to compare the next two with", begin: ({ baseUrl }) => flood(baseUrl) },
  {
    name: "right passwords of one name from 8,000 addresses, without end",
    begin: ({ baseUrl, password }) => flood(baseUrl, () => password),
  },
  { name: "wrong passwords of one name from 8,000 addresses, without end", begin: ({ baseUrl }) => flood(baseUrl, (i) => `wrong ${i}`) },
]
