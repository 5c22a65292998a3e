import { EngineError } from "../../engine.ts"

export interface Descriptor {
  digest: string
  size?: number | null
  platform?: { architecture?: string | null; os?: string | null; variant?: string | null } | null
}
export interface Manifest {
  mediaType?: string | null
  manifests?: Descriptor[] | null
  config?: Descriptor | null
  layers?: Descriptor[] | null
}
export interface ImageConfig {
  architecture?: string | null
  config?: {
    User?: string | null
    Entrypoint?: string[] | null
    Cmd?: string[] | null
    WorkingDir?: string | null
    Env?: string[] | null
    ExposedPorts?: object | null
    Volumes?: object | null
  } | null
}

export function unusableImage(why: string): EngineError {
  return new EngineError("image_unavailable", `The image cannot be used: ${why}`)
}

/** Throws for a manifest or an index that a node may read differently. */
export function checkManifest(value: object, body: Buffer): asserts value is Manifest {
  check(value, body, manifest)
  const { manifests, config, layers } = value as Manifest
  if (manifests && (config || layers)) throw unusableImage("it is described both as one image and as an index of several")
}

/** Throws for a configuration that a node may read differently. */
export function checkImageConfig(value: object, body: Buffer): asserts value is ImageConfig {
  check(value, body, configuration)
}

/**
 * Nodes parse with Go's `encoding/json`, which accepts names in any case, and merges the values of
 * a name that comes twice.
 */
function check(value: object, body: Buffer, shape: Check): void {
  if (countNames(body) !== countMembers(value)) throw unusableImage("its description has a name twice in one object")
  shape(value, "its description")
}

/** Throws for a value that is not as described; its name is for the message. */
type Check = (value: unknown, name: string) => void

function fields(known: Readonly<Record<string, Check>>): Check {
  // With these flags as in Go: ſ is an s, and the sign of Kelvin a k.
  const inAnyCase = new RegExp(`^(?:${Object.keys(known).join("|")})$`, "iu")
  return (value, of) => {
    assertType(typeof value === "object" && value !== null && !Array.isArray(value), of)
    for (const [name, field] of Object.entries(value as object)) {
      const checkField = Object.hasOwn(known, name) ? known[name] : undefined
      if (!checkField && inAnyCase.test(name))
        throw unusableImage(`its description has ${JSON.stringify(name)}, which is written in another case`)
      // As in Go, null is the same as nothing.
      if (field !== null) checkField?.(field, name)
    }
  }
}

const text: Check = (value, name) => assertType(typeof value === "string", name)
const byteCount: Check = (value, name) => assertType(Number.isSafeInteger(value) && (value as number) >= 0, name)
const anyFields = fields({})

function list(checkItem: Check): Check {
  return (value, name) => {
    assertType(Array.isArray(value), name)
    for (const item of value as unknown[]) checkItem(item, name)
  }
}

function assertType(isRight: boolean, name: string): void {
  if (!isRight) throw unusableImage(`${name} has a value of the wrong type`)
}

const platform = fields({ architecture: text, os: text, variant: text })
const descriptor = fields({ digest: text, size: byteCount, platform })
const manifest = fields({ mediaType: text, manifests: list(descriptor), config: descriptor, layers: list(descriptor) })
const runtime = fields({
  ...{ User: text, WorkingDir: text, ExposedPorts: anyFields, Volumes: anyFields },
  ...{ Entrypoint: list(text), Cmd: list(text), Env: list(text) },
})
const configuration = fields({ architecture: text, config: runtime })

const [quote, backslash, colon] = Buffer.from('"\\:')

/** How many names the objects of a JSON text have, each as often as it is written. */
function countNames(body: Buffer): number {
  let count = 0
  let isInText = false
  for (let i = 0; i < body.length; i += 1) {
    const byte = body[i]
    if (byte === quote) isInText = !isInText
    else if (isInText) i += byte === backslash ? 1 : 0
    else if (byte === colon) count += 1
  }
  return count
}

/** How many names the objects of a value have. */
function countMembers(value: unknown): number {
  let count = 0
  const left = [value]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next !== "object" || next === null) continue
    const values: unknown[] = Object.values(next)
    if (!Array.isArray(next)) count += values.length
    for (const each of values) left.push(each)
  }
  return count
}
