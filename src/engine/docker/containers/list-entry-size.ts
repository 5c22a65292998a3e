import { bounds } from "#contract"
import { EngineError, type RunSpec } from "../../engine.ts"
import { runLabels } from "./labels.ts"

const { listedBytes } = bounds.containers

/** The size of a value in the daemon's JSON, which writes some characters as `\u003c`. */
export function daemonJsonBytes(value: object): number {
  return Buffer.byteLength(JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, "\\u0000"))
}

/**
 * Throws if the run would take too much of each list of containers. All runs are observed by such
 * lists, which contain each container's command, labels and mounts with their targets.
 */
export function checkListEntrySize(spec: RunSpec, instance: string): void {
  const bytes = daemonJsonBytes([spec.entryPoint ?? [], spec.command, runLabels(spec, instance), spec.mounts.map(({ target }) => target)])
  if (bytes <= listedBytes.value) return
  throw new EngineError("engine_error", `The run's command and mounts have ${bytes} bytes together; the limit is ${listedBytes.value}`)
}
