import { once } from "node:events"
import { WebSocket } from "ws"
import { type ControlProcess, connectControl, controlProtocols, type Multiplexer } from "#channel"

/** A control connection of a test; its disposal closes it. */
export async function connectTo(
  url: string,
  authorization: string | undefined,
  headers: Record<string, string> = {},
): Promise<Multiplexer & Disposable> {
  const proof: Record<string, string> = authorization === undefined ? {} : { authorization }
  const connection = await connectControl(new WebSocket(url, [...controlProtocols], { headers: { ...proof, ...headers } }))
  return Object.assign(connection, { [Symbol.dispose]: () => connection.close(1000, "") })
}

/** The status with which the server refuses a control connection, and the code in its answer. */
export async function refusalOf(url: string, headers: Record<string, string>, protocols = controlProtocols): Promise<string> {
  const socket = new WebSocket(url, [...protocols], { headers })
  socket.on("error", () => {})
  const [, response] = await once(socket, "unexpected-response")
  const body = JSON.parse(Buffer.concat(await response.toArray()).toString())
  return `${response.statusCode} ${body.code}`
}

export interface ProgramResult {
  stdout: string
  stderr: string
  exitCode: number
}

/** Sends the input and its end, and reads until the program has ended. */
export async function runToEnd(process: ControlProcess, input?: string): Promise<ProgramResult> {
  if (input !== undefined) await process.write(new TextEncoder().encode(input))
  process.end()
  const outputs: [Uint8Array[], Uint8Array[]] = [[], []]
  for await (const { part, data } of process.output) outputs[part === 2 ? 1 : 0].push(data)
  const [stdout, stderr] = outputs.map((chunks) => Buffer.concat(chunks).toString()) as [string, string]
  return { stdout, stderr, exitCode: (await process.exited).exitCode }
}

/** Collects output until it contains a text. */
export async function readUntil(process: ControlProcess, text: string): Promise<string> {
  let output = ""
  for (;;) {
    const chunk = await process.stream.read()
    if (!chunk) throw new Error(`The output ended before ${JSON.stringify(text)}: ${JSON.stringify(output)}`)
    output += Buffer.from(chunk.data).toString()
    if (output.includes(text)) return output
  }
}
