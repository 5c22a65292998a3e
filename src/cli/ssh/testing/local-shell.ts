import { spawn } from "node:child_process"
import { outputPart } from "#channel"
import { RunShell } from "../run-shell.ts"

/** A shell of this machine, whose output comes in pieces of this size. */
export function openLocalShell(pieceBytes: number) {
  const child = spawn("sh", { stdio: ["pipe", "pipe", "ignore"] })
  child.stdin.on("error", () => {})
  async function* output() {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>)
      for (let at = 0; at < chunk.length; at += pieceBytes) yield { part: outputPart.stdout, data: chunk.subarray(at, at + pieceBytes) }
  }
  const write = async (data: Uint8Array) => void child.stdin.write(data)
  return Object.assign(new RunShell({ output: output(), write }), { [Symbol.dispose]: () => void child.kill() })
}
