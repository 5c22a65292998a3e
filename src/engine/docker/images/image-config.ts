import type { IncomingMessage } from "node:http"
import type Dockerode from "dockerode"
import { bounds, type OciReference, referenceText } from "#contract"
import { EngineError } from "../../engine.ts"
import type { Abort, Api } from "../client/docker-client.ts"
import { sentBytes } from "../containers/listing-size.ts"

export type Inspected = Dockerode.ImageInspectInfo

const { imageAnswerBytes, imageConfigBytes, imagePorts, imageVolumes } = bounds.containers

/**
 * What the daemon knows of an image, of which no more is read than any may have. dockerode's own
 * call for this reads whatever comes.
 */
export async function inspectImage(docker: Api, reference: OciReference, abort: Abort): Promise<Inspected> {
  const path = `/images/${referenceText(reference)}/json`
  const request = { path, method: "GET", isStream: true, statusCodes: { 200: true }, ...abort }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    docker.modem.dial(request, (error: Error | null, answer: unknown) => (error ? reject(error) : resolve(answer as IncomingMessage)))
  })
  const parts: Buffer[] = []
  let bytes = 0
  // Left before its end, the answer's connection is closed.
  for await (const part of answer as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > imageAnswerBytes.value) throw refusal(`what the engine tells of it has more than ${imageAnswerBytes.value} bytes`)
    parts.push(part)
  }
  return JSON.parse(Buffer.concat(parts).toString())
}

/**
 * Throws where an image brings along more than containers may have of it. Each container has the
 * image's labels, ports and volumes, and each list of containers has those of every one: one
 * person's images would keep everybody's runs from being seen.
 */
export function checkConfig({ Config }: Pick<Inspected, "Config">): void {
  const { ExposedPorts, Volumes } = (Config ?? {}) as { ExposedPorts?: object | null; Volumes?: object | null }
  const ports = Object.keys(ExposedPorts ?? {}).length
  const volumes = Object.keys(Volumes ?? {}).length
  const bytes = sentBytes(Config ?? {})
  if (ports > imagePorts.value) throw refusal(`it exposes ${ports} ports, where ${imagePorts.value} are the most`)
  if (volumes > imageVolumes.value) throw refusal(`it declares ${volumes} volumes, where ${imageVolumes.value} are the most`)
  if (bytes > imageConfigBytes.value)
    throw refusal(`its configuration, labels included, has ${bytes} bytes, where ${imageConfigBytes.value} are the most`)
}

function refusal(why: string): EngineError {
  return new EngineError("image_unavailable", `The image cannot be used: ${why}`)
}
