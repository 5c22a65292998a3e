import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type Declaration, type Range, withDeclarations } from "./declarations.ts"

/** A small fault that the tests must notice. */
export interface Mutant {
  file: string
  /** The behaviour with the fault, in words. */
  fault: string
  place: Place
  /** The code that takes the place's. */
  replace: string
  /**
   * The files that run; at least one test in them must fail. If one of them needs Docker, the fault
   * is tried only where Docker answers.
   */
  tests: readonly string[]
}

/**
 * A declaration's body, a text in a declaration, or a text outside of all: it stands there once.
 */
export type Place = { declaration: string; text?: string } | string

/**
 * In a declaration, such as `open` or `Cache.#evict`: a text that stands there once, or its body.
 */
export function at(declaration: string, text?: string): Place {
  return text === undefined ? { declaration } : { declaration, text }
}

/** Faults in one file that the same tests notice. */
export function faults(
  file: string,
  tests: readonly string[],
  list: readonly (readonly [fault: string, place: Place, replace: string])[],
): Mutant[] {
  return list.map(([fault, place, replace]) => ({ file, fault, place, replace, tests }))
}

/** Whether one of its tests needs Docker. */
export function needsDocker({ tests }: Mutant): boolean {
  return tests.some((file) => file.endsWith(".docker.test.ts"))
}

/**
 * The part of its file that each fault replaces. Throws for one that does not fit into the tree.
 */
export function locateFaults(root: string, mutants: readonly Mutant[]): Map<Mutant, Range> {
  return withDeclarations(
    root,
    (declarationsIn) =>
      new Map(
        mutants.map((mutant) => {
          const path = join(root, mutant.file)
          if (!existsSync(path)) throw misfit(mutant, "there is no such file")
          return [mutant, locate(mutant, readFileSync(path, "utf8"), declarationsIn(mutant.file))]
        }),
      ),
  )
}

function locate(mutant: Mutant, code: string, declarations: readonly Declaration[]): Range {
  const { place } = mutant
  if (typeof place === "string") return locateText(mutant, place, code, { start: 0, end: code.length })
  const [declaration, other] = declarations.filter(({ name }) => name === place.declaration)
  if (!declaration) throw misfit(mutant, `it declares no ${place.declaration}`)
  if (other) throw misfit(mutant, `it declares several ${place.declaration}`)
  return place.text === undefined ? declaration.body : locateText(mutant, place.text, code, declaration.whole)
}

function locateText(mutant: Mutant, text: string, code: string, { start, end }: Range): Range {
  const count = code.slice(start, end).split(text).length - 1
  if (count !== 1) throw misfit(mutant, `expected ${JSON.stringify(text)} once, found it ${count} times`)
  const found = code.indexOf(text, start)
  return { start: found, end: found + text.length }
}

function misfit({ file, fault }: Mutant, why: string): Error {
  return new Error(`The fault "${fault}" does not fit into ${file}: ${why}`)
}
