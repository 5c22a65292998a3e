// Prints what happens to runs, until it is interrupted. A lost connection is made again, and
// nothing is missed.
import { followEvents } from "#client"
import { connect, print } from "./connect.ts"

const ended = new AbortController()
process.once("SIGINT", () => ended.abort())
for await (const { event, data } of followEvents(connect(), { signal: ended.signal })) {
  if (event === "reset") print("Too much was missed; read the lists again")
  else if (event.startsWith("run.")) print(`${event}\t${data.ID}\t${data.State ?? ""}`)
}
