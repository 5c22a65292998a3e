// Compiles the server's code into the cache that quayside.js reads: `node bin/compile.js`, by the
// user of the server. An image with a read-only file system would otherwise strip the types at each
// start, which costs a second and 25 MiB in each process.

import { globSync } from "node:fs"
import * as module from "node:module"
import { fileURLToPath, pathToFileURL } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
/** Clients, tests, and what does its work when it is imported. */
const others = ["src/{cli,web}/**", "src/**/*.test.ts", "src/**/testing/**", "src/**/*.d.ts", "src/main/{cli,packaged-cli}.ts"]

module.enableCompileCache(`${root}/node_modules/.cache/quayside`)
for (const path of globSync("src/**/*.ts", { cwd: root, exclude: others })) {
  // A thread's program finds no work, and is compiled all the same.
  await import(pathToFileURL(`${root}/${path}`).href).catch(() => {})
}
process.argv[2] = "version"
await import("./quayside.js")
// The file server's worker would wait for its parent.
process.exit()
