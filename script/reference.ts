// Writes the pages of docs/reference/ that are made from the code's own tables.

import { writeFileSync } from "node:fs"
import { referencePages } from "../test/conformance/reference.ts"

for (const [name, text] of Object.entries(referencePages())) writeFileSync(new URL(`../docs/reference/${name}`, import.meta.url), text)
