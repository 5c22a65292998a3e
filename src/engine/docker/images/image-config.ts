import type { IncomingMessage } from "node:http"
import type Dockerode from "dockerode"
import { bounds, formatOciReference, type OciReference } from "#contract"
import { EngineError } from "../../engine.ts"
import type { AbortOption, DockerApi } from "../client/docker-client.ts"
import { jsonBytes } from "../containers/listing-size.ts"

export type ImageInspection = Dockerode.ImageInspectInfo

const { imageAnswerBytes, imageConfigBytes, imagePorts, imageVolumes } = bounds.containers

/**
 * What the daemon knows of an image, of which no more is read than any may have. dockerode's own
 * call for this reads whatever comes.
 */
export async function inspectImage(docker: DockerApi, reference: OciReference, abort: AbortOption): Promise<ImageInspection> {
  const path = `/images/${formatOciReference(reference)}/json`
  const request = { path, method: "GET", isStream: true, statusCodes: { 200: true }, ...abort }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    docker.modem.dial(request, (error: Error | null, answer: unknown) => (error ? reject(error) : resolve(answer as IncomingMessage)))
  })
  const parts: Buffer[] = []
  let bytes = 0
  // Left before its end, the answer's connection is closed.
  for await (const part of answer as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > imageAnswerBytes.value) throw denialReason(`what the engine tells of it has more than ${imageAnswerBytes.value} bytes`)
    parts.push(part)
  }
  return JSON.parse(Buffer.concat(parts).toString())
}

/**
 * Throws where an image brings along more than containers may have of it. Each container has the
 * image's labels, ports and volumes, and each list of containers has those of every one: one
 * person's images would keep everybody's runs from being seen.
 */
export function checkImageConfig({ Config }: Pick<ImageInspection, "Config">): void {
  const { ExposedPorts, Volumes } = (Config ?? {}) as { ExposedPorts?: object | null; Volumes?: object | null }
  const ports = Object.keys(ExposedPorts ?? {}).length
  const volumes = Object.keys(Volumes ?? {}).length
  const bytes = jsonBytes(Config ?? {})
  if (ports > imagePorts.value) throw denialReason(`it exposes ${ports} ports, where ${imagePorts.value} are the most`)
  if (volumes > imageVolumes.value) throw denialReason(`it declares ${volumes} volumes, where ${imageVolumes.value} are the most`)
  if (bytes > imageConfigBytes.value)
    throw denialReason(`its configuration, labels included, has ${bytes} bytes, where ${imageConfigBytes.value} are the most`)
}

function denialReason(why: string): EngineError {
  return new EngineError("image_unavailable", `The image cannot be used: ${why}`)
}
