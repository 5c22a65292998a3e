import { flushCompileCache } from "node:module"
import { DirectoryHandle } from "../tree/directory-handle.ts"
import { AuthorityProxy } from "./authority-proxy.ts"
import { dropPrivileges } from "./drop-privileges.ts"
import { FileServer } from "./file-server.ts"
import { firstSocketDescriptor, type MessageToMain, type MessageToWorker, rootDescriptor, serializeError } from "./messages.ts"

/*
 * The worker process. It loads its code and drops its privileges before it opens or accepts
 * anything. It ends with the main process, which answers all of its questions about rights.
 */

type Start = Extract<MessageToWorker, { type: "start" }>

const authority = new AuthorityProxy((message) => send(message))
let server: FileServer | undefined

process.on("message", (message: MessageToWorker) => {
  if (message.type === "start") start(message).catch(fail)
  else if (message.type === "stop") stop().catch(fail)
  else if (message.type === "invalidate") server?.invalidate()
  else if (message.type === "confirm") server?.confirm()
  else if (message.type === "ping") send({ type: "pong", id: message.id })
  else if (message.type === "tree") runTreeOperation(message).catch(fail)
  else if (message.type === "cancel") server?.treeWorker.cancel(message.id)
  else authority.handleReply(message)
})
process.on("disconnect", () => process.exit(0))
// A terminal sends these to the whole process group; the main process decides when this one ends.
process.on("SIGINT", () => {})
process.on("SIGTERM", () => {})

async function start({ owner, settings, sockets }: Start): Promise<void> {
  flushCompileCache()
  const weaknesses = await dropPrivileges(owner)
  const report = (error: unknown) => send({ type: "failure", error: serializeError(error) })
  server = new FileServer({ root: DirectoryHandle.fromDescriptor(rootDescriptor), authority, settings, report })
  await server.listen(Array.from({ length: sockets }, (_, i) => ({ fd: firstSocketDescriptor + i })))
  send({ type: "ready", weaknesses })
}

async function runTreeOperation({ id, operation }: Extract<MessageToWorker, { type: "tree" }>): Promise<void> {
  if (!server) throw new Error("The worker got an operation before it was ready")
  const outcome = await server.treeWorker.run({ id, operation, onProgress: (progress) => send({ type: "treeProgress", id, progress }) })
  send({ type: "treeReply", id, outcome })
}

async function stop(): Promise<void> {
  await server?.[Symbol.asyncDispose]()
  authority.flushRefusals()
  process.disconnect?.()
}

function fail(error: unknown): void {
  process.exitCode = 1
  send({ type: "dying", error: serializeError(error) }, () => process.exit())
}

function send(message: MessageToMain, then: () => void = () => {}): void {
  if (process.connected) process.send?.(message, then)
  else then()
}
