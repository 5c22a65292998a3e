import { basic } from "#client"
import { Crowd } from "../../test/fixtures/crowd.ts"
import type { Attack } from "./attack.ts"

/** Keeps so many requests under way, each with a password, from many addresses. */
async function guess(url: string, passwordOf: (i: number) => string): Promise<Disposable> {
  const say = (i: number) =>
    `GET /whoami HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic("admin", passwordOf(i))}\r\nConnection: close\r\n\r\n`
  const crowd = new Crowd({ port: Number(new URL(url).port), from: (i) => `127.0.${2 + ((i >> 7) & 63)}.${1 + (i & 127)}`, say })
  let isOver = false
  const go = async () => {
    while (!isOver) {
      await crowd.add(100)
      await new Promise((resolve) => setTimeout(resolve, 50))
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
  {
    name: "right passwords of one name from 8,000 addresses, without end",
    begin: ({ baseUrl, password }) => guess(baseUrl, () => password),
  },
  { name: "wrong passwords of one name from 8,000 addresses, without end", begin: ({ baseUrl }) => guess(baseUrl, (i) => `wrong ${i}`) },
]
