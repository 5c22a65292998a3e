import { formatOciReference, type OciReference } from "#contract"
import type { RegistryCredentials } from "../../engine.ts"
import type { AbortOption, DockerApi } from "../client/docker-api.ts"
import { authOptions } from "./pull-image.ts"
import { readAnswer } from "./read-answer.ts"

/** The daemon's description of an image in a registry; the image is not fetched. */
export interface ManifestDescription {
  Platforms?: readonly { architecture?: string; os?: string }[] | null
}

/**
 * Makes the daemon request an image's manifest from the registry: resolves if access is granted.
 */
export function requestManifest(
  docker: DockerApi,
  reference: OciReference,
  { credentials, ...abort }: AbortOption & { credentials: RegistryCredentials | undefined },
): Promise<ManifestDescription> {
  return readAnswer(docker, `/distribution/${formatOciReference(reference)}/json`, { ...abort, ...authOptions(reference, credentials) })
}
