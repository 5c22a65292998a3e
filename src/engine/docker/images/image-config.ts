import type { IncomingMessage } from "node:http"
import type Dockerode from "dockerode"
import { bounds } from "#contract"
import { EngineError } from "../../engine.ts"
import type { AbortOption, DockerApi } from "../client/docker-client.ts"
import { daemonJsonBytes } from "../containers/list-entry-size.ts"

export type ImageInspection = Dockerode.ImageInspectInfo

const { imageAnswerBytes, imageConfigBytes, imagePorts, imageVolumes } = bounds.containers

/**
 * Inspects an image by its complete reference or its ID, and reads at most the allowed size of the
 * answer. dockerode's own call reads without a limit.
 */
export async function inspectImage(docker: DockerApi, name: string, abort: AbortOption): Promise<ImageInspection> {
  const path = `/images/${name}/json`
  const request = { path, method: "GET", isStream: true, statusCodes: { 200: true }, ...abort }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    docker.modem.dial(request, (error: Error | null, answer: unknown) => (error ? reject(error) : resolve(answer as IncomingMessage)))
  })
  const parts: Buffer[] = []
  let bytes = 0
  // Leaving the loop early closes the connection.
  for await (const part of answer as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > imageAnswerBytes.value) throw configError(`its description has more than ${imageAnswerBytes.value} bytes`)
    parts.push(part)
  }
  return JSON.parse(Buffer.concat(parts).toString())
}

/**
 * Throws if an image's configuration exceeds the limits. Each container inherits the image's
 * labels, ports and volumes, and each list of containers repeats them: one person's images could
 * prevent the observation of everybody's runs.
 */
export function checkImageConfig({ Config }: Pick<ImageInspection, "Config">): void {
  const { ExposedPorts, Volumes } = (Config ?? {}) as { ExposedPorts?: object | null; Volumes?: object | null }
  const ports = Object.keys(ExposedPorts ?? {}).length
  const volumes = Object.keys(Volumes ?? {}).length
  const bytes = daemonJsonBytes(Config ?? {})
  if (ports > imagePorts.value) throw configError(`it exposes ${ports} ports; the limit is ${imagePorts.value}`)
  if (volumes > imageVolumes.value) throw configError(`it declares ${volumes} volumes; the limit is ${imageVolumes.value}`)
  if (bytes > imageConfigBytes.value)
    throw configError(`its configuration, labels included, has ${bytes} bytes; the limit is ${imageConfigBytes.value}`)
}

function configError(why: string): EngineError {
  return new EngineError("image_unavailable", `The image cannot be used: ${why}`)
}
