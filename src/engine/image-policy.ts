import { formatOciReference, normalizeOciReference, type OciReference, reasonMessages } from "#contract"
import { EngineError, type ImagePolicy } from "./engine.ts"
import type { RegistryAllowlist } from "./registry-allowlist.ts"

/** Parses an image reference; throws an `EngineError` if it is malformed. */
export function parseReference(image: string): OciReference {
  const reference = normalizeOciReference(image)
  if (reference) return reference
  throw new EngineError(
    "image_not_found",
    `${reasonMessages.image_not_found}: ${JSON.stringify(image.slice(0, 100))} is not an image reference`,
  )
}

/** An image that the engine already has. */
export interface LocalImage {
  reference: OciReference
  /** Its digest in the reference's registry; undefined if it did not come from there. */
  registryDigest: string | undefined
}

export interface ImagePolicyContext {
  registries: RegistryAllowlist
  /** Rejects if the registry refuses access to this digest. */
  verifyAccess(reference: OciReference): Promise<void>
}

/** Rejects with an `EngineError` if the policy forbids the use of a local image. */
export async function assertImageAllowed(
  { reference, registryDigest }: LocalImage,
  policy: ImagePolicy,
  { registries, verifyAccess }: ImagePolicyContext,
): Promise<void> {
  if (registryDigest === undefined) {
    if (!policy.allowLocal) throw builtHere(reference)
    return
  }
  if (policy.allowLocal && !policy.verifyAccess) return
  const denial = registries.denialReason(reference)
  if (denial !== undefined) throw new EngineError("image_pull_denied", denial)
  if (!policy.verifyAccess) return
  await registries.check(reference)
  await verifyAccess({ ...reference, tag: "", digest: registryDigest })
}

/** Throws if a pull would replace an image built on this machine. */
export function assertImageReplaceable({ reference, registryDigest }: LocalImage, policy: ImagePolicy): void {
  if (registryDigest !== undefined) return
  if (!policy.allowLocal) throw builtHere(reference)
  throw new EngineError("image_unavailable", `${formatOciReference(reference)} was built on this machine, so a pull does not replace it`)
}

function builtHere(reference: OciReference): EngineError {
  const name = formatOciReference(reference)
  return new EngineError("image_unavailable", `${name} was built on this machine: it can be used only if an administrator registered it`)
}

/** A number of bytes, such as `1.25 GiB`. */
export function gibText(bytes: number): string {
  return `${(bytes / 2 ** 30).toLocaleString("en", { maximumFractionDigits: 2 })} GiB`
}

/** Throws if an image is larger than the limit; 0 is no limit. */
export function assertImageSize(bytes: number, maxBytes: number, what = `at least ${gibText(bytes)}`): void {
  if (maxBytes === 0 || bytes <= maxBytes) return
  throw new EngineError("image_too_large", `${reasonMessages.image_too_large}: ${what}, more than the limit of ${gibText(maxBytes)}`)
}
