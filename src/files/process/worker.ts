import { flushCompileCache } from "node:module"
import { Folder } from "../tree/directory-handle.ts"
import { AuthorityProxy } from "./authority-proxy.ts"
import { dropPrivileges } from "./drop-privileges.ts"
import { firstSocket, plainError, rootDescriptor, type ToMain, type ToWorker } from "./messages.ts"
import { Service } from "./service.ts"

/*
 * The worker process. What it needs is loaded and its privileges are dropped before it opens or
 * accepts anything. It ends when the main process does: without it nobody can be asked.
 */

type Start = Extract<ToWorker, { type: "start" }>

const authority = new AuthorityProxy((message) => tell(message))
let service: Service | undefined

process.on("message", (message: ToWorker) => {
  if (message.type === "start") start(message).catch(fail)
  else if (message.type === "stop") stop().catch(fail)
  else if (message.type === "invalidate") service?.invalidate()
  else if (message.type === "ping") tell({ type: "pong", id: message.id })
  else if (message.type === "tree") work(message).catch(fail)
  else if (message.type === "cancel") service?.tree.cancel(message.id)
  else authority.answer(message)
})
process.on("disconnect", () => process.exit(0))
// A terminal sends these to the whole group; the main process decides when this one ends.
process.on("SIGINT", () => {})
process.on("SIGTERM", () => {})

async function start({ owner, settings, sockets }: Start): Promise<void> {
  flushCompileCache()
  const weaknesses = await dropPrivileges(owner)
  const report = (error: unknown) => tell({ type: "failure", error: plainError(error) })
  service = new Service({ root: Folder.adopt(rootDescriptor), authority, settings, report })
  for (let i = 0; i < sockets; i += 1) await service.listen({ fd: firstSocket + i })
  tell({ type: "ready", weaknesses })
}

async function work({ id, call }: Extract<ToWorker, { type: "tree" }>): Promise<void> {
  if (!service) throw new Error("The main process asked before this one was ready")
  const outcome = await service.tree.do({ id, call, onProgress: (progress) => tell({ type: "treeProgress", id, progress }) })
  tell({ type: "treeDone", id, outcome })
}

async function stop(): Promise<void> {
  await service?.[Symbol.asyncDispose]()
  authority.handOver()
  process.disconnect?.()
}

function fail(error: unknown): void {
  process.exitCode = 1
  tell({ type: "dying", error: plainError(error) }, () => process.exit())
}

function tell(message: ToMain, then: () => void = () => {}): void {
  if (process.connected) process.send?.(message, then)
  else then()
}
