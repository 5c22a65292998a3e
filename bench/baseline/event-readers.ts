// Opens streams of events for bench/events.ts, reads them and counts; by lines on its standard
// input: `open <n>`, `count`, `close`. Each is answered by one line.
import { connect, type Socket } from "node:net"
import { createInterface } from "node:readline"

const [port = "", ...tokens] = process.argv.slice(2)
const sockets: Socket[] = []
let bytes = 0

function open(token: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port: Number(port) })
    sockets.push(socket)
    socket.on("error", reject)
    socket.once("data", (head) => {
      if (!head.toString().startsWith("HTTP/1.1 200")) return reject(new Error(head.toString()))
      resolve()
    })
    // Nothing is kept, so that reading costs as little as it can beside what is measured.
    socket.on("data", (chunk) => {
      bytes += chunk.length
    })
    socket.write(`GET /events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  })
}

for await (const line of createInterface(process.stdin)) {
  const [word, n] = line.split(" ")
  if (word === "open") for (let i = 0; i < Number(n); i += 1) await open(tokens[i % tokens.length] as string)
  if (word === "close") for (const socket of sockets.splice(0)) socket.destroy()
  process.stdout.write(`${bytes}\n`)
}
