/**
 * The grammar of container image references: `[host[:port]/]path[:tag][@digest]`.
 * Source: the `reference` package of CNCF Distribution, whose limits these are.
 */
const hostPart =
  /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::[0-9]{1,5})?$|^\[[a-fA-F0-9:]+\](?::[0-9]{1,5})?$/
const pathPart = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/
const tagPart = /^\w[\w.-]{0,127}$/
const digestPart = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/
const wanted = "an image reference like repo/name:tag or host/repo/name@sha256:…"

/** A description of valid image references, or undefined if the text is one. */
export function ociReferenceError(text: string): string | undefined {
  return parseOciReference(text) === undefined ? wanted : undefined
}

export interface OciReference {
  /** Empty: the engine's default registry. */
  host: string
  path: string
  tag: string
  digest: string
}

export function parseOciReference(text: string): OciReference | undefined {
  if (text.length > 1024) return undefined
  const at = text.indexOf("@")
  const digest = at < 0 ? "" : text.slice(at + 1)
  if (at >= 0 && !isDigest(digest)) return undefined
  const named = at < 0 ? text : text.slice(0, at)
  const colon = named.lastIndexOf(":")
  const tagged = colon > named.lastIndexOf("/")
  const tag = tagged ? named.slice(colon + 1) : ""
  if (tagged && !tagPart.test(tag)) return undefined
  const name = tagged ? named.slice(0, colon) : named
  if (name.length > 255 || /^[a-f0-9]{64}$/.test(name)) return undefined
  const parts = name.split("/")
  const first = parts[0] ?? ""
  const hasHost = parts.length > 1 && (first === "localhost" || /[.:A-Z]/.test(first))
  if (hasHost && !hostPart.test(first)) return undefined
  const path = hasHost ? parts.slice(1) : parts
  if (!path.every((part) => pathPart.test(part))) return undefined
  return { host: hasHost ? first : "", path: path.join("/"), tag, digest }
}

/** The registry that a reference without a host means. */
export const defaultRegistry = "docker.io"

/**
 * The complete reference: registry in lower case, path, and a digest or otherwise
 * a tag (`latest` if none is named). Undefined if the text is not a reference.
 *
 * In this form no engine takes it for an image's ID, as it does with `sha256:…` alone.
 */
export function normalizeOciReference(text: string): OciReference | undefined {
  const parsed = parseOciReference(text)
  if (!parsed) return undefined
  const named = parsed.host.toLowerCase()
  const host = named === "" || named === "index.docker.io" ? defaultRegistry : named
  const path = host === defaultRegistry && !parsed.path.includes("/") ? `library/${parsed.path}` : parsed.path
  return { host, path, tag: parsed.digest === "" ? parsed.tag || "latest" : "", digest: parsed.digest }
}

export function formatOciReference({ host, path, tag, digest }: OciReference): string {
  return `${host === "" ? "" : `${host}/`}${path}${tag === "" ? "" : `:${tag}`}${digest === "" ? "" : `@${digest}`}`
}

function isDigest(text: string): boolean {
  if (!digestPart.test(text)) return false
  return !text.startsWith("sha256:") || /^sha256:[a-f0-9]{64}$/.test(text)
}
