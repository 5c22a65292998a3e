import { formatOciReference, type OciReference } from "#contract"
import type { RegistryCredentials } from "../../engine.ts"
import type { AbortOption, DockerApi } from "../client/docker-client.ts"
import { authOptions } from "./pull-image.ts"

/**
 * Makes the daemon request an image's manifest from the registry: resolves if access is granted.
 * dockerode's own call cannot be aborted.
 */
export function requestManifest(
  docker: DockerApi,
  reference: OciReference,
  { credentials, ...abort }: AbortOption & { credentials: RegistryCredentials | undefined },
): Promise<void> {
  const request = {
    path: `/distribution/${formatOciReference(reference)}/json`,
    method: "GET",
    statusCodes: { 200: true },
    ...abort,
    ...authOptions(reference, credentials),
  }
  return new Promise((resolve, reject) => {
    docker.modem.dial(request, (error: Error | null) => (error ? reject(error) : resolve()))
  })
}
