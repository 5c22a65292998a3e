import type { Readable } from "node:stream"
import type Dockerode from "dockerode"
import { reasonSentences } from "#contract"
import { EngineError, type StartStep } from "../engine.ts"
import type { DockerClient } from "./client.ts"
import { ifFound, pullError } from "./errors.ts"
import { jsonLines } from "./lines.ts"
import { type PullEvent, PullProgress } from "./progress.ts"

export type ImageInfo = Pick<Dockerode.ImageInspectInfo, "Id" | "Config">

/** Answers what is known of the image; fetches it first where the daemon does not have it. */
export async function ensureImage(
  client: DockerClient,
  image: string,
  { report, signal }: { report: (step: StartStep) => void; signal: AbortSignal },
): Promise<ImageInfo> {
  const reference = withTag(image)
  const held = await inspect(client, reference, signal)
  if (held) return held
  report({ state: "pulling", progress: null })
  await pull(client, reference, { report, signal })
  const fetched = await inspect(client, reference, signal)
  if (!fetched) throw new EngineError("image_pull_failed", reasonSentences.image_pull_failed, { detail: "gone right after its pull" })
  return fetched
}

/** Without a tag or digest the daemon would fetch every tag there is. */
export function withTag(image: string): string {
  const name = image.slice(image.lastIndexOf("/") + 1)
  return name.includes(":") || name.includes("@") ? image : `${image}:latest`
}

function inspect(client: DockerClient, reference: string, signal: AbortSignal): Promise<ImageInfo | undefined> {
  return ifFound(client.call((docker, abort) => docker.getImage(reference).inspect(abort as object), { signal }))
}

async function pull(
  client: DockerClient,
  reference: string,
  { report, signal }: { report: (step: StartStep) => void; signal: AbortSignal },
): Promise<void> {
  try {
    const stream = await client.call((docker) => docker.pull(reference, { abortSignal: signal }), { signal, ms: 0 })
    const progress = new PullProgress()
    for await (const event of jsonLines<PullEvent>(stream as Readable, signal)) {
      if (event.error !== undefined) throw new Error(event.error)
      const sum = progress.add(event)
      if (sum) report({ state: "pulling", progress: sum })
    }
  } catch (error) {
    signal.throwIfAborted()
    throw pullError(error)
  }
}
