import { fullReference, type OciReference, reasonSentences, referenceText } from "#contract"
import { EngineError, type ImagePolicy } from "./engine.ts"
import type { RegistryAllowlist } from "./registry-allowlist.ts"

/** Reads a reference; throws an `EngineError` for what is none. */
export function parseReference(image: string): OciReference {
  const reference = fullReference(image)
  if (reference) return reference
  throw new EngineError(
    "image_not_found",
    `${reasonSentences.image_not_found}: ${JSON.stringify(image.slice(0, 100))} is no image reference`,
  )
}

/** An image that the engine holds. */
export interface LocalImage {
  reference: OciReference
  /** Its digest in the registry that the reference names; undefined: it did not come from there. */
  registryDigest: string | undefined
}

export interface ImagePolicyContext {
  registries: RegistryAllowlist
  /** Rejects where the registry does not hand out this digest. */
  prove(reference: OciReference): Promise<void>
}

/**
 * Whether an image that the engine holds may be used on these terms; rejects with an `EngineError`
 * where not.
 */
export async function assertUsable(
  { reference, registryDigest }: LocalImage,
  policy: ImagePolicy,
  { registries, prove }: ImagePolicyContext,
): Promise<void> {
  if (registryDigest === undefined) {
    if (!policy.allowLocal) throw builtHere(reference)
    return
  }
  if (policy.allowLocal && !policy.verifyAccess) return
  const refusal = registries.denialReason(reference)
  if (refusal !== undefined) throw new EngineError("image_pull_denied", refusal)
  if (!policy.verifyAccess) return
  await registries.check(reference)
  await prove({ ...reference, tag: "", digest: registryDigest })
}

/** An image of this machine is never replaced by what a registry has under its name. */
export function assertReplaceable({ reference, registryDigest }: LocalImage, policy: ImagePolicy): void {
  if (registryDigest !== undefined) return
  if (!policy.allowLocal) throw builtHere(reference)
  throw new EngineError(
    "image_unavailable",
    `${referenceText(reference)} was built on this machine, and is not replaced by what a registry has`,
  )
}

function builtHere(reference: OciReference): EngineError {
  const name = referenceText(reference)
  return new EngineError("image_unavailable", `${name} was built on this machine: it can be used only where an administrator registered it`)
}

/** Throws where an image has, or is going to have, more bytes than any may; 0 is no bound. */
export function assertImageSize(bytes: number, largest: number): void {
  if (largest === 0 || bytes <= largest) return
  const gib = (amount: number) => `${(amount / 2 ** 30).toLocaleString("en", { maximumFractionDigits: 2 })} GiB`
  throw new EngineError("image_too_large", `${reasonSentences.image_too_large}: ${gib(bytes)} or more, where ${gib(largest)} is the most`)
}
