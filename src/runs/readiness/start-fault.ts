import type { ListeningPort } from "#engine"
import type { RunRow } from "#store"
import { portOf } from "../lifecycle/engine-spec.ts"
import { ruleOfType } from "../project-types.ts"
import type { ProbeResult } from "./probe.ts"

const maxPortsNamed = 5

/** A fault that can be seen of a program that is not ready. */
export interface StartFault {
  /** A clause: it begins in lower case and has no full stop. */
  text: string
  /** The clause of the progress, which names the expected port. Default: `text`. */
  step?: string
  /** Its cure; undefined: that of the reason's code. */
  hint?: string
}

/** Before anything is known of the program's ports. */
export const unknownPortFault: StartFault = { text: "a program that listens on 127.0.0.1 alone is not reached" }

/** Undefined if the program listens on its port, or if its ports are unknown. */
export function portFault(run: RunRow, ports: readonly ListeningPort[] | undefined): StartFault | undefined {
  const expected = portOf(run)
  const own = ports?.find(({ port }) => port === expected)
  if (!ports || (own && !own.isLocal)) return undefined
  if (own)
    return {
      text: `the program listens on port ${expected} of 127.0.0.1 only; it must listen on 0.0.0.0`,
      hint: "Let the program listen on 0.0.0.0: many programs have an option such as `--host 0.0.0.0`",
    }
  const others = ports.slice(0, maxPortsNamed).map(({ port }) => port)
  const text = `the program listens on ${ports.length === 0 ? "no port" : `port ${others.join(", ")}`}`
  const step = `${text}; the project expects ${expected}`
  if (ports.length === 0) return { text, step }
  return {
    text,
    step,
    hint: `Set the image's Port to ${others[0]}, or let the program listen on ${expected}`,
  }
}

/** Undefined if the program's port did not open, or if it was not probed. */
export function responseFault(run: RunRow, probed: ProbeResult | undefined): StartFault | undefined {
  if (!probed || probed.ready || probed.code !== "not_answering") return undefined
  const { type } = run.spec
  const { readiness } = ruleOfType(type)
  const expected = readiness.kind === "websocket" ? `the greeting ${readiness.banner.trim()}` : `status ${readiness.accepts}`
  return { text: `${probed.detail}; the type ${type} expects ${expected}`, hint: answerHint(type, probed.status) }
}

function answerHint(type: string, status: number | undefined): string {
  if (status === undefined) return "Let the program answer HTTP on its port, without TLS, and read its last lines"
  if (status >= 500) return "The program reports an error of its own: read its last lines, and correct the program"
  return `Choose an image whose program fits the type ${type}, or another type for the project`
}
