// Makes the npm package `quayside`: the command line and the typed client, as JavaScript.
// Usage: node script/pack.ts [DIRECTORY]; prints the path of the tarball.

import { resolve } from "node:path"
import { packClient } from "./lib/client-package.ts"

const tarball = await packClient(resolve(process.argv[2] ?? "dist"))
process.stdout.write(`${tarball}\n`)
