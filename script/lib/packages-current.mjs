// Exit code 0 when every package of package-lock.json that this machine needs is installed in its
// version, else 1. Plain JavaScript: it runs before there are packages, with whatever Node the
// machine has.

import { readFileSync } from "node:fs"

const read = (name) => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), "utf8")).packages

try {
  const wanted = read("package-lock.json")
  const present = read("node_modules/.package-lock.json")
  const missing = Object.keys(wanted).filter(
    (path) => path !== "" && !wanted[path].optional && !wanted[path].peer && present[path]?.version !== wanted[path].version,
  )
  process.exitCode = missing.length === 0 ? 0 : 1
} catch {
  process.exitCode = 1
}
