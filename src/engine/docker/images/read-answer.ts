import type { IncomingMessage } from "node:http"
import { bounds } from "#contract"
import { EngineError } from "../../engine.ts"
import type { AbortOption, DockerApi } from "../client/docker-api.ts"

const { imageAnswerBytes } = bounds.containers

/**
 * GETs a description of an image from the daemon, and reads at most the allowed size of it.
 * dockerode's own calls read without a limit.
 */
export async function readAnswer<T>(docker: DockerApi, path: string, options: AbortOption & { authconfig?: object }): Promise<T> {
  const request = { path, method: "GET", isStream: true, statusCodes: { 200: true }, ...options }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    docker.modem.dial(request, (error: Error | null, answer: unknown) => (error ? reject(error) : resolve(answer as IncomingMessage)))
  })
  const parts: Buffer[] = []
  let bytes = 0
  // Leaving the loop early closes the connection.
  for await (const part of answer as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > imageAnswerBytes.value) throw imageConfigError(`its description has more than ${imageAnswerBytes.value} bytes`)
    parts.push(part)
  }
  return JSON.parse(Buffer.concat(parts).toString())
}

export function imageConfigError(why: string): EngineError {
  return new EngineError("image_unavailable", `The image cannot be used: ${why}`)
}
