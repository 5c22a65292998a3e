import { bounds } from "#contract"
import { invalid } from "../failures.ts"

export interface IfCondition {
  isNegated: boolean
  kind: "token" | "etag"
  value: string
}

export interface IfConditionList {
  /** The address that the list applies to, as it was sent; undefined: the request's own. */
  resource: string | undefined
  conditions: IfCondition[]
}

const { ifLists, ifNames } = bounds.files

/**
 * Parses an `If` header (RFC 4918, 10.4). One of its lists must hold, and a list holds if all of
 * its conditions do.
 */
export function parseIfHeader(header: string): IfConditionList[] {
  const lists: IfConditionList[] = []
  let resource: string | undefined
  let names = 0
  let rest = header.trim()
  while (rest !== "") {
    const tag = /^<([^<>]*)>\s*/.exec(rest)
    if (tag) {
      if (lists.length > 0 && resource === undefined) throw malformed(rest)
      resource = tag[1] as string
      names += slashesIn(resource)
      if (names > ifNames.value) throw invalid(`The paths of an If header have at most ${ifNames.value} names together`)
      rest = rest.slice(tag[0].length)
    }
    const list = /^\(([^()]*)\)\s*/.exec(rest)
    if (!list) throw malformed(rest)
    lists.push({ resource, conditions: parseConditions(list[1] ?? "") })
    rest = rest.slice(list[0].length)
    if (lists.length > ifLists.value) throw invalid(`An If header has at most ${ifLists.value} lists of conditions`)
  }
  if (lists.length === 0) throw malformed(header)
  return lists
}

/** At least the number of names in the path of an address, whether it is readable or not. */
export function slashesIn(address: string): number {
  return address.split("/").length - 1
}

function parseConditions(text: string): IfCondition[] {
  const conditions: IfCondition[] = []
  let rest = text.trim()
  while (rest !== "") {
    const match = /^(not\s+|not(?=[<[]))?(?:<([^<>]*)>|\[((?:W\/)?"[^"]*")\])\s*/i.exec(rest)
    if (!match) throw malformed(rest)
    const isNegated = match[1] !== undefined
    conditions.push(
      match[2] !== undefined ? { isNegated, kind: "token", value: match[2] } : { isNegated, kind: "etag", value: match[3] ?? "" },
    )
    rest = rest.slice(match[0].length)
  }
  if (conditions.length === 0) throw malformed(text)
  return conditions
}

const malformed = (text: string) => invalid(`The If header cannot be read at ${JSON.stringify(text.slice(0, 60))}`)

/** Every state token that the header names: naming it submits it, whether it holds or not. */
export function submittedTokens(lists: readonly IfConditionList[]): Set<string> {
  return new Set(lists.flatMap(({ conditions }) => conditions.filter(({ kind }) => kind === "token").map(({ value }) => value)))
}
