import type { Readable } from "node:stream"
import { defaultRegistry, formatOciReference, type OciReference } from "#contract"
import type { Progress, RegistryCredentials } from "../../engine.ts"
import { assertImageSize } from "../../image-policy.ts"
import type { DockerClient } from "../client/docker-client.ts"
import { toPullError } from "../client/errors.ts"
import { jsonLines } from "../client/json-lines.ts"
import { type PullEvent, PullProgress } from "./pull-progress.ts"

export interface Fetching {
  credentials: RegistryCredentials | undefined
  maxBytes: number
  report: (progress: Progress | null) => void
  signal: AbortSignal
}

/**
 * Has the daemon fetch an image. Breaking off, also for an image that turns out too large, makes
 * the daemon drop what it has of it.
 */
export async function pullImage(client: DockerClient, reference: OciReference, how: Fetching): Promise<void> {
  const { credentials, maxBytes, report, signal } = how
  const options = { abortSignal: signal, ...authOptions(reference, credentials) }
  try {
    const stream = await client.call((docker) => docker.pull(formatOciReference(reference), options), { signal, timeoutMs: 0 })
    const progress = new PullProgress()
    for await (const event of jsonLines<PullEvent>(stream as Readable, signal)) {
      if (event.error !== undefined) throw new Error(event.error)
      const sum = progress.add(event)
      if (!sum) continue
      assertImageSize(sum.total ?? 0, maxBytes)
      report(sum)
    }
  } catch (error) {
    signal.throwIfAborted()
    throw toPullError(error)
  }
}

/** Credentials as the daemon takes them: in a header of the request to it. */
export function authOptions({ host }: Pick<OciReference, "host">, credentials: RegistryCredentials | undefined) {
  if (!credentials) return {}
  const serveraddress = host === defaultRegistry ? "https://index.docker.io/v1/" : host
  return { authconfig: { ...credentials, serveraddress } }
}
