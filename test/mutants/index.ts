import { access } from "./access.ts"
import { isolation } from "./isolation.ts"
import { layout } from "./layout.ts"
import type { Mutant } from "./mutant.ts"

/** `script/test --mutants` puts them into a copy of the tree, one at a time. A part is a file beside this one. */
export const parts: Readonly<Record<string, readonly Mutant[]>> = { layout, access, isolation }

export { type Mutant, needsDocker } from "./mutant.ts"
