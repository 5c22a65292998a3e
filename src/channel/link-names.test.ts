import assert from "node:assert/strict"
import { test } from "node:test"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { bounds } from "#contract"
import { LinkNames } from "./link-names.ts"

setFlagsFromString("--expose-gc")
const collectGarbage = runInNewContext("gc") as () => void

const shapes: Readonly<Record<string, (n: number) => string[]>> = {
  "in one directory": (n) => [`link${n}`],
  "each in a directory": (n) => [`${n}`, "l"],
  "each in ten directories": (n) => [`${n}`, ..."abcdefghij"],
  "with long names": (n) => [`${n}`, `${"é".repeat(200)}${n}`],
}

for (const [what, path] of Object.entries(shapes)) {
  test(`the links of an archive, ${what}, use no more memory than is counted for them`, () => {
    const links = new LinkNames()
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    let count = 0
    while (links.add(path(count))) count += 1
    collectGarbage()
    const used = process.memoryUsage().heapUsed - before
    assert.ok(links.leadsThrough(path(0)))
    assert.ok(count > 1_000 && used <= bounds.control.archiveLinkBytes.value, `${count} links, ${used} bytes`)
  })
}
