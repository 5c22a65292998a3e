import assert from "node:assert/strict"
import { test } from "node:test"
import { specOf } from "../../../../test/fixtures/run-spec.ts"
import { containerOptions } from "./container-options.ts"
import { diskLimitOf } from "./labels.ts"
import { checkRuntimeCreatedPaths } from "./runtime-created-paths.ts"

const fixed = {
  ...{ imageId: "sha256:0", instance: "i", network: "n", address: "10.0.0.2", uid: 1000, gid: 1000, mounts: [] },
  ...{ openFiles: undefined, diskBytes: undefined, seccomp: "{}" },
}

function nvidiaDevicesOf(fields: Omit<Parameters<typeof specOf>[0], "image">): string[] {
  const spec = specOf({ image: "i", ...fields })
  const { Env = [] } = containerOptions({ ...fixed, spec })
  return Env.filter((entry) => entry.startsWith("NVIDIA_VISIBLE_DEVICES="))
}

test("NVIDIA's runtime gets the run's own GPUs only, whatever the environment of image and run says", () => {
  const env = { NVIDIA_VISIBLE_DEVICES: "all" }
  assert.deepEqual(nvidiaDevicesOf({ env, gpus: [] }), ["NVIDIA_VISIBLE_DEVICES=void"])
  assert.deepEqual(nvidiaDevicesOf({ env, gpus: ["mock-0"] }), ["NVIDIA_VISIBLE_DEVICES=void"])
  assert.deepEqual(nvidiaDevicesOf({ env, gpus: ["GPU-1", "GPU-2"] }), ["NVIDIA_VISIBLE_DEVICES=GPU-1,GPU-2"])
})

test("every label of Quayside is set, so that an image's label of the same name counts for nothing", () => {
  const inherited = { "quayside.disk": "1", "quayside.gpus": "GPU-1" }
  const labelsWith = (diskBytes?: number) => ({
    ...inherited,
    ...containerOptions({ ...fixed, spec: specOf({ image: "i", diskMiB: 5 }), diskBytes }).Labels,
  })
  assert.deepEqual(
    [undefined, 9].map((diskBytes) => diskLimitOf(labelsWith(diskBytes))),
    [null, 5],
  )
  assert.equal(labelsWith()["quayside.gpus"], "")
})

const image = { digest: "", size: 0, user: "", entryPoint: [], command: [], workDir: "", ports: [], variables: [], volumes: [] }

/** Each link leads the paths below it to another place. */
function check(fields: Partial<typeof image> & { volumes?: string[] }, links: Readonly<Record<string, string>> = {}) {
  const routeOf = (path: string) => {
    const link = Object.keys(links).find((each) => path === each || path.startsWith(`${each}/`))
    return link === undefined ? [path] : [link, `${links[link]}${path.slice(link.length)}`]
  }
  checkRuntimeCreatedPaths(specOf({ image: "i" }), { ...image, ...fields } as never, routeOf)
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

test("the names of a path are followed twice at most, however many mounts it is compared with", () => {
  const mounts = Array.from({ length: 64 }, (_, i) => ({ source: "/", target: `/data/${i}`, readOnly: true }))
  const counts = new Map<string, number>()
  checkRuntimeCreatedPaths(specOf({ image: "i", mounts }), image as never, (path) => {
    counts.set(path, (counts.get(path) ?? 0) + 1)
    return [path]
  })
  assert.ok(counts.size > 64)
  assert.equal(Math.max(...counts.values()), 2)
})
