// Generates the pages of docs/reference/ from the code's tables.

import { writeFileSync } from "node:fs"
import { referencePages } from "../test/conformance/reference.ts"

for (const [name, text] of Object.entries(referencePages())) writeFileSync(new URL(`../docs/reference/${name}`, import.meta.url), text)
