// Makes the files of clients/python that follow from the API's description and from each other.

import { writeFileSync } from "node:fs"
import { pythonFiles, pythonSources } from "./lib/python/files.ts"

for (const [name, text] of Object.entries(pythonFiles())) writeFileSync(new URL(name, pythonSources), text)
