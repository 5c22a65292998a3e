import { formatOciReference, type OciReference } from "#contract"
import type { RegistryCredentials } from "../../engine.ts"
import type { AbortOption, DockerApi } from "../client/docker-client.ts"
import { authOptions } from "./pull-image.ts"

/**
 * Has the daemon ask the registry for an image's manifest: resolves where it is handed out.
 * dockerode's own call for this cannot be aborted.
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
