import { bounds } from "./bounds/index.ts"
import { Failure } from "./failure.ts"
import { type AnswerValue, type BodyValue, type Fields, invalidField, type JsonSchema } from "./fields/field.ts"
import { integer, oneOf, timestamp } from "./fields/scalars.ts"
import { checkPlainText, plainTextPattern } from "./fields/text.ts"

/** A query parameter: how it is read and what it is for. */
export interface QueryParam<T = unknown> {
  readonly schema: JsonSchema
  /** May stand several times; its value is then a list. */
  readonly repeats: boolean
  /** For the description: the operation needs it. */
  readonly required?: true
  parse(text: string, name: string): T
}
export type QueryParams = Readonly<Record<string, QueryParam>>
/** The parsed query of a handler: every parameter that was sent. */
export type QueryValues<P extends QueryParams> = {
  [K in keyof P]?: P[K] extends QueryParam<infer T> ? (P[K]["repeats"] extends true ? T[] : T) : never
}

const id = integer({})
const readId = (text: string, name: string) => (id.fromQuery as (text: string, name: string) => number)(text, name)
const limit = 2 ** 31

export const idParam = {
  schema: { ...id.schema, description: "Names the object." },
  repeats: false,
  parse: readId,
} as const satisfies QueryParam<number>

/** The same if nothing else can name the object. */
export const requiredIdParam = { ...idParam, required: true } as const satisfies QueryParam<number>

const positive = (description: string) =>
  ({
    schema: { type: "integer", minimum: 1, maximum: limit - 1, description },
    repeats: false,
    parse: (text: string, name: string): number => {
      const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
      if (!(value >= 1 && value < limit)) throw invalidField(name, `a whole number from 1 to ${limit - 1}`, text)
      return value
    },
  }) as const satisfies QueryParam<number>

/** How many items a page has when the request does not say. */
export const defaultPageSize = 20
/** How often a parameter that repeats may stand. */
const maxRepeats = bounds.texts.repeats.value
/** More is answered as this many. */
export const maxPageSize = bounds.texts.pageSize.value

/** Minutes without use. */
export const idleMinutesParam = {
  ...positive("Minutes without use."),
  required: true,
} as const satisfies QueryParam<number>

const zeroOrMore = (description: string) =>
  ({
    schema: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description },
    repeats: false,
    parse: (text: string, name: string): number => {
      const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
      if (!Number.isSafeInteger(value)) throw invalidField(name, `a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`, text)
      return value
    },
  }) as const satisfies QueryParam<number>

export const pruneDaysParam = zeroOrMore("Days without use; 0: age does not count. Default: the setting `QUAYSIDE_PRUNE_IMAGES_DAYS`.")
export const pruneSizeParam = zeroOrMore(
  "Bytes of all fetched images together; 0: size does not count. Default: the setting `QUAYSIDE_PRUNE_IMAGES_SIZE`.",
)

const zeroOne = (description: string) =>
  ({
    schema: { type: "integer", enum: [0, 1], description },
    repeats: false,
    parse: (text: string, name: string): boolean => {
      if (text !== "0" && text !== "1") throw invalidField(name, "0 or 1", text)
      return text === "1"
    },
  }) as const satisfies QueryParam<boolean>

const plain = (description: string) =>
  ({
    schema: { type: "string", pattern: plainTextPattern, description },
    repeats: false,
    parse: (text: string, name: string): string => {
      checkPlainText(text, name)
      return text
    },
  }) as const satisfies QueryParam<string>

/** One of a closed list. */
export function enumParam<const T extends string>(description: string, values: readonly T[]) {
  const field = oneOf<T>({ description, values })
  return {
    schema: field.schema,
    repeats: false,
    parse: (text: string, name: string): T => field.parse(text, name),
  } as const satisfies QueryParam<T>
}

export interface Sort {
  by: string
  descending: boolean
}

/** The fields that a list can be sorted by; `-` before one is descending. */
export function sortParam(names: readonly string[]) {
  return {
    schema: {
      type: "string",
      enum: names.flatMap((name) => [name, `-${name}`]),
      description: "Order; `-` before the name is descending. Default: newest first.",
    },
    repeats: false,
    parse: (text: string, name: string): Sort => {
      const by = text.replace(/^-/, "")
      if (!names.includes(by)) throw invalidField(name, `one of ${names.join(", ")}, with - before it for descending`, text)
      return { by, descending: text.startsWith("-") }
    },
  } as const satisfies QueryParam<Sort>
}

const instant = timestamp({})

/** A time; milliseconds since the epoch. */
export const timeParam = (description: string) =>
  ({
    schema: { type: "string", format: "date-time", description },
    repeats: false,
    parse: (text: string, name: string): number => Date.parse(instant.parse(text, name)),
  }) as const satisfies QueryParam<number>

const minStepSeconds = 10
const maxStepSeconds = 7 * 24 * 3_600

/** The part of a series that is asked for. */
export const usageParams = {
  From: timeParam("Start of the series. Default: an hour before `To`."),
  To: timeParam("End of the series. Default: now, or the run's end."),
  Step: {
    schema: {
      type: "integer",
      minimum: minStepSeconds,
      maximum: maxStepSeconds,
      multipleOf: minStepSeconds,
      description: `Seconds of each step. Default: the shortest that gives at most ${bounds.runs.usagePoints.value} steps.`,
    },
    repeats: false,
    parse: (text: string, name: string): number => {
      const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
      if (value >= minStepSeconds && value <= maxStepSeconds && value % minStepSeconds === 0) return value
      throw invalidField(name, `seconds from ${minStepSeconds} to ${maxStepSeconds}, a multiple of ${minStepSeconds}`, text)
    },
  } satisfies QueryParam<number>,
} as const

export const pagingParams = {
  page: positive("From 1. Default 1."),
  pageSize: positive(`Items per page. Default ${defaultPageSize}; more than ${maxPageSize} counts as ${maxPageSize}.`),
} as const

export const idsParam = { ...idParam, repeats: true } as const
export const userNameParam = plain("Only what belongs to this person.")
export const isPublishParam = zeroOne("1: only what is public; 0: only what is not.")
export const followParam = zeroOne("1: go on until the run is over.")
export const allSessionsParam = zeroOne("1: every session of the person, wherever it was begun; their tokens stay.")
export const otherSessionsParam = zeroOne("1: every session of the person but the one of this request.")
export const sessionIdParam = { ...idParam, schema: { ...id.schema, description: "Only this session." } } as const
export const personParam = plain("With All=1: this person's sessions. Default: the caller's. Only administrators may name others.")
export const tailParam = { ...idParam, schema: { ...id.schema, description: "Only the last so many lines." } } as const
export const rankParam = { ...idParam, schema: { ...id.schema, description: "Only this rank of a run on several nodes." } } as const
export const deletedParam = zeroOne("1: what was deleted instead: the caller's own, for administrators everybody's.")
export const wordsParam = plain("Every word must stand in name or comment, in any case.")
export const exactParam = plain("Only exact matches.")

type Scalar = string | number | boolean | null
type ScalarKeys<F extends Fields> = {
  [K in keyof F]: [AnswerValue<F[K]>] extends [never] ? never : AnswerValue<F[K]> extends Scalar ? K : never
}[keyof F]
export type ScalarParams<F extends Fields> = {
  readonly [K in ScalarKeys<F>]: QueryParam<F[K]["write"] extends "never" ? AnswerValue<F[K]> : BodyValue<F[K]>> & { repeats: false }
}

/** Single reads compare any scalar field of the structure. */
export function scalarParams<F extends Fields>(fields: F): ScalarParams<F> {
  const params: Record<string, QueryParam> = {}
  for (const [name, field] of Object.entries(fields)) {
    const read = field.fromQuery
    if (read) params[name] = { schema: field.querySchema ?? field.schema, repeats: false, parse: read }
  }
  return params as ScalarParams<F>
}

/**
 * Reads a query string by its table: unknown names (with the nearest known one), names that stand
 * twice and values of the wrong form are refused, so that no filter is silently ignored.
 */
export function parseQuery<P extends QueryParams>(params: P, text: string): QueryValues<P> {
  const result: Record<string, unknown> = {}
  if (text === "") return result as QueryValues<P>
  for (const pair of text.split("&")) {
    if (pair === "") continue
    const equals = pair.indexOf("=")
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    const value = decode(equals < 0 ? "" : pair.slice(equals + 1))
    const param = Object.hasOwn(params, name) ? params[name] : undefined
    if (!param) throw unknownParamError(name, Object.keys(params))
    const parsed = param.parse(value, name)
    if (param.repeats) {
      const list = (result[name] as unknown[] | undefined) ?? []
      if (list.length === maxRepeats) throw new Failure("invalid", `${name} may stand at most ${maxRepeats} times`, { field: name })
      list.push(parsed)
      result[name] = list
    } else if (name in result) throw new Failure("invalid", `${name} must be sent once; got it twice`, { field: name })
    else result[name] = parsed
  }
  return result as QueryValues<P>
}

function decode(text: string): string {
  if (!/[%+]/.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    throw new Failure("invalid", `The query is not well percent-encoded at ${JSON.stringify(text.slice(0, 40))}`)
  }
}

function unknownParamError(name: string, known: readonly string[]): Failure {
  const near = nearestName(name, known)
  const hint = known.length === 0 ? "; none is known here" : near === undefined ? `; known: ${known.join(", ")}` : `; did you mean ${near}?`
  return new Failure("invalid", `Unknown query parameter ${JSON.stringify(name.slice(0, 60))}${hint}`, { field: name.slice(0, 60) })
}

/** The known word that is most like the given one, if any is like it at all. */
export function nearestName(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let least = Math.max(2, Math.floor(word.length / 3)) + 1
  for (const candidate of known) {
    const steps = isSimilarWord(candidate, word)
      ? Math.abs(candidate.length - word.length) / 100
      : editDistance(word.slice(0, 60), candidate)
    if (steps < least) [best, least] = [candidate, steps]
  }
  return best
}

/**
 * Whether two words are the same but for their case, or one, of three characters at least, is a
 * part of the other.
 */
function isSimilarWord(one: string, other: string): boolean {
  const [short, long] = [one.toLowerCase(), other.toLowerCase()].sort((a, b) => a.length - b.length) as [string, string]
  return short === long || (short.length > 2 && long.includes(short))
}

/** How many single-character edits lie between two words (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
