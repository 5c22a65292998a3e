import assert from "node:assert/strict"
import { test } from "node:test"
import { specOf } from "../../../../test/fixtures/run-spec.ts"
import { checkRoutes } from "./made-paths.ts"

const image = { digest: "", size: 0, user: "", entryPoint: [], command: [], workDir: "", ports: [], variables: [], volumes: [] }

/** Each link leads the paths below it to another place. */
function check(fields: Partial<typeof image> & { volumes?: string[] }, links: Readonly<Record<string, string>> = {}) {
  const routeOf = (path: string) => {
    const link = Object.keys(links).find((each) => path === each || path.startsWith(`${each}/`))
    return link === undefined ? [path] : [link, `${links[link]}${path.slice(link.length)}`]
  }
  checkRoutes(specOf({ image: "i" }), { ...image, ...fields } as never, routeOf)
}

for (const [what, fields, links] of [
  ["a working directory", { workDir: "/proc/self/fd/7" }],
  ["a working directory behind a link", { workDir: "/app/7" }, { "/app": "/proc/self/fd" }],
  ["a working directory with `..`", { workDir: "/app/../sys/fs" }],
  ["a working directory without a leading slash", { workDir: "proc" }],
  ["a volume", { volumes: ["/dev/mqueue"] }],
  ["a volume without a leading slash", { volumes: ["dev"] }],
  ["a directory in memory", {}, { "/tmp": "/dev/x" }],
] as const) {
  test(`an image does not lead ${what} into the kernel's files`, () => {
    assert.throws(() => check(fields as never, links), { code: "image_unavailable" })
  })
}

test("images may have other paths, and their links for files that the engine mounts itself", () => {
  check({ workDir: "/process", volumes: ["/devices", "system"] } as never)
  check({}, { "/etc/hostname": "/proc/sys/kernel/hostname" })
})
