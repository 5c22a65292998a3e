import { bounds } from "#contract"
import { EngineError, type RunSpec } from "../../engine.ts"
import { labelsOf } from "./labels.ts"

const { listedBytes } = bounds.containers

/** Bytes of a value as the daemon sends it, which writes some characters as `\u003c`. */
export function jsonBytes(value: object): number {
  return Buffer.byteLength(JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, "\\u0000"))
}

/**
 * Throws where each list of containers would have more of this run than it may: lists are what
 * everybody's runs are seen by, and have the command of each, its labels, and its mounts with their
 * targets.
 */
export function checkListingSize(spec: RunSpec, instance: string): void {
  const bytes = jsonBytes([spec.command, labelsOf(spec, instance), spec.mounts.map(({ target }) => target)])
  if (bytes <= listedBytes.value) return
  throw new EngineError(
    "engine_error",
    `The run's command and the places of its mounts have ${bytes} bytes together, where ${listedBytes.value} are the most`,
  )
}
