import { formatOciReference, type OciReference, type ReasonCode, reasonMessages } from "#contract"
import { EngineError } from "../../engine.ts"
import { detailOf, freeSpaceHint, isUnreachable } from "../client/errors.ts"

interface PullFault {
  pattern: RegExp
  code: ReasonCode
  sentence: (image: string, registry: string) => string
  hint?: string
}

const wait = "Start it again in some minutes: the registry usually recovers by itself"

/**
 * The daemon's and the registries' messages, most specific first. The daemon has one code for all
 * of them, so they must be parsed.
 */
const faults: readonly PullFault[] = [
  {
    pattern: /no space left on device|disk quota exceeded/i,
    code: "disk_full",
    sentence: (image) => `The disk of the container engine is full: there is no room for the image ${image}`,
    hint: freeSpaceHint,
  },
  {
    pattern: /no matching manifest/i,
    code: "wrong_architecture",
    sentence: (image, registry) => `The registry ${registry} has the image ${image} for other kinds of processor only`,
  },
  {
    // The daemon remembers manifests, and then finds the image gone when it asks for a layer.
    pattern: /manifest unknown|name unknown|unknown blob|no such image|not found: manifest/i,
    code: "image_not_found",
    sentence: (image, registry) => `Neither the engine nor the registry ${registry} has the image ${image}`,
  },
  {
    pattern: /repository does not exist or may require/i,
    code: "image_pull_denied",
    sentence: (image, registry) => `The registry ${registry} does not have the image ${image}, or refuses to hand it out`,
    hint: "Compare the image's name with the registry's page; if it is private, ask an administrator to add credentials",
  },
  {
    pattern: /toomanyrequests|too many requests/i,
    code: "image_pull_failed",
    sentence: (image, registry) =>
      `The image ${image} could not be fetched: the registry ${registry} asks to wait, after too many requests`,
    hint: "Start it again later; with credentials for the registry, which an administrator can add, its limit is higher",
  },
  {
    pattern: /unexpected HTTP status: 5\d\d/i,
    code: "image_pull_failed",
    sentence: (image, registry) => `The image ${image} could not be fetched: the registry ${registry} answered with an error of its own`,
    hint: wait,
  },
  {
    pattern: /pull access denied|unauthorized|authentication required|no basic auth|denied|forbidden/i,
    code: "image_pull_denied",
    sentence: (image, registry) => `The registry ${registry} refused to hand out the image ${image}`,
  },
  {
    pattern: /no such host|server misbehaving/i,
    code: "image_pull_failed",
    sentence: (image, registry) => `The image ${image} could not be fetched: the name of its registry ${registry} cannot be resolved`,
    hint: "Compare the registry's name in the image's reference; if it is right, ask an administrator about the network",
  },
  {
    pattern: /x509|tls:|HTTP response to HTTPS client/i,
    code: "image_pull_failed",
    sentence: (image, registry) =>
      `The image ${image} could not be fetched: the engine does not trust the connection to the registry ${registry}`,
    hint: "Ask an administrator to add the registry's certificate to the engine (`/etc/docker/certs.d`)",
  },
  {
    pattern: /connection refused|connection reset|broken pipe|network is unreachable|no route to host|timeout|\bEOF\b/i,
    code: "image_pull_failed",
    sentence: (image, registry) => `The image ${image} could not be fetched: the registry ${registry} cannot be reached`,
  },
]

/** Converts any error of a pull into an `EngineError` that names the image and its registry. */
export function toPullError(error: unknown, reference: OciReference): EngineError {
  if (error instanceof EngineError && error.code !== "engine_error") return error
  const detail = detailOf(error)
  const parts = (hint?: string) => ({ detail, cause: error, hint })
  if (isUnreachable(error)) return new EngineError("engine_unreachable", reasonMessages.engine_unreachable, parts())
  const image = formatOciReference(reference)
  const found = faults.find(({ pattern }) => pattern.test(detail))
  if (found) return new EngineError(found.code, found.sentence(image, reference.host), parts(found.hint))
  return new EngineError("image_pull_failed", `The image ${image} could not be fetched from the registry ${reference.host}`, parts())
}
