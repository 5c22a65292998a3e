import assert from "node:assert/strict"
import { test } from "node:test"
import { emptyImageInfo } from "#engine"
import type { RunRow } from "#store"
import { ruleOfType } from "../project-types.ts"
import { environmentOf } from "./environment.ts"

const mounts = [{ source: "/users/eve/private", target: "/work/data/rows", readOnly: true, dataId: 3 }]
const spec = { home: "/work/home", env: {}, secret: "s", mounts }
const run = { id: 7, projectId: 5, userName: "ann", cpus: 4, memoryMiB: 512, spec } as unknown as RunRow
const image = { ...emptyImageInfo, variables: ["LANG", "OMP_NUM_THREADS"] }
const options = {
  rule: ruleOfType("http"),
  placeholders: { port: "80", baseUrl: "/" },
  image: undefined,
  installation: { baseUrl: "https://hub", filesUrl: "https://files", timeZone: "Europe/Paris" },
}

test("programs find their resources, their time zone and facts of their run", () => {
  const env = environmentOf(run, options)
  const { CPU_LIMIT, CPU_GUARANTEE, MEM_LIMIT, MEM_GUARANTEE, OMP_NUM_THREADS, MKL_NUM_THREADS, TZ, LANG } = env
  assert.deepEqual([CPU_LIMIT, CPU_GUARANTEE, MEM_LIMIT, MEM_GUARANTEE], ["4", "4", "536870912", "536870912"])
  assert.deepEqual([OMP_NUM_THREADS, MKL_NUM_THREADS, TZ, LANG], ["4", "4", "Europe/Paris", "C.UTF-8"])
  const { QUAYSIDE_RUN_ID, QUAYSIDE_PROJECT_ID, QUAYSIDE_USER, QUAYSIDE_BASE_URL, QUAYSIDE_FILES_URL, QUAYSIDE_BASE_PATH } = env
  assert.deepEqual([QUAYSIDE_RUN_ID, QUAYSIDE_PROJECT_ID, QUAYSIDE_USER], ["7", "5", "ann"])
  assert.deepEqual([QUAYSIDE_BASE_URL, QUAYSIDE_FILES_URL, QUAYSIDE_BASE_PATH], ["https://hub", "https://files", "/"])
  assert.deepEqual(JSON.parse(env.QUAYSIDE_MOUNTS ?? ""), [{ path: "/work/data/rows", readOnly: true }])
})

test("the variables of the container image and of `Env` replace the defaults", () => {
  const env = environmentOf({ ...run, spec: { ...run.spec, env: { TZ: "Asia/Tokyo" } } }, { ...options, image })
  assert.deepEqual([env.LANG, env.OMP_NUM_THREADS, env.TZ], [undefined, undefined, "Asia/Tokyo"])
})

test("a list of mounts that Linux could not pass on is left out", () => {
  const long = Array.from({ length: 60 }, (_, i) => ({ ...mounts[0], target: `/${i}/${"x".repeat(1_000)}` }))
  const env = environmentOf({ ...run, spec: { ...run.spec, mounts: long } } as RunRow, options)
  assert.equal(env.QUAYSIDE_MOUNTS, undefined)
})
