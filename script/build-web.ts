// Builds the web UI into dist/web if the build is missing or stale.

import { ensureWebBuild } from "./lib/web-build.ts"

const started = performance.now()
const isBuilt = await ensureWebBuild()
if (isBuilt) process.stdout.write(`Built the web UI in ${((performance.now() - started) / 1000).toFixed(1)} s\n`)
