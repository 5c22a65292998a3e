import type { Readable } from "node:stream"
import { defaultRegistry, formatOciReference, type OciReference } from "#contract"
import type { Progress, RegistryCredentials } from "../../engine.ts"
import { assertImageSize } from "../../image-policy.ts"
import type { DockerClient } from "../client/docker-client.ts"
import { parseJsonLines } from "../client/json-lines.ts"
import { toPullError } from "./pull-errors.ts"
import { type PullEvent, PullProgress } from "./pull-progress.ts"

export interface PullImageOptions {
  credentials: RegistryCredentials | undefined
  maxBytes: number
  report: (progress: Progress | null) => void
  signal: AbortSignal
}

/**
 * Makes the daemon fetch an image. If the call ends early, also because the image is too large, the
 * daemon discards its partial download.
 */
export async function pullImage(client: DockerClient, reference: OciReference, options: PullImageOptions): Promise<void> {
  const { credentials, maxBytes, report, signal } = options
  const daemonOptions = { abortSignal: signal, ...authOptions(reference, credentials) }
  try {
    const stream = await client.call((docker) => docker.pull(formatOciReference(reference), daemonOptions), { signal, timeoutMs: 0 })
    const progress = new PullProgress(reference.host)
    for await (const event of parseJsonLines<PullEvent>(stream as Readable, signal)) {
      if (event.error !== undefined) throw new Error(event.error)
      const sum = progress.add(event)
      if (!sum) continue
      assertImageSize(sum.total ?? 0, maxBytes)
      report(sum)
    }
  } catch (error) {
    signal.throwIfAborted()
    throw toPullError(error, reference)
  }
}

/** Credentials in the form that the daemon expects: in a header of the request. */
export function authOptions({ host }: Pick<OciReference, "host">, credentials: RegistryCredentials | undefined) {
  if (!credentials) return {}
  const serveraddress = host === defaultRegistry ? "https://index.docker.io/v1/" : host
  return { authconfig: { ...credentials, serveraddress } }
}
