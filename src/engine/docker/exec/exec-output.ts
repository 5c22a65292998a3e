import type { Readable } from "node:stream"
import type { ExecOutput } from "../../exec.ts"

const headerBytes = 8

/** The output of a program with a terminal. */
export async function* terminalOutput(stream: Readable): AsyncGenerator<ExecOutput> {
  for await (const data of stream as AsyncIterable<Buffer>) yield { stream: "stdout", data }
}

/** Parses the daemon's stream of both outputs. A frame is passed on as it arrives, in parts. */
export async function* separateOutputs(stream: Readable): AsyncGenerator<ExecOutput> {
  let header = Buffer.alloc(0)
  let rest = 0
  let name: ExecOutput["stream"] = "stdout"
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    for (let at = 0; at < chunk.length; ) {
      if (rest === 0) {
        const part = chunk.subarray(at, at + headerBytes - header.length)
        header = Buffer.concat([header, part])
        at += part.length
        if (header.length < headerBytes) continue
        name = header[0] === 2 ? "stderr" : "stdout"
        rest = header.readUInt32BE(4)
        header = Buffer.alloc(0)
      } else {
        const data = chunk.subarray(at, at + rest)
        at += data.length
        rest -= data.length
        yield { stream: name, data }
      }
    }
  }
}
