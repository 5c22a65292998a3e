import assert from "node:assert/strict"
import { test } from "node:test"
import type { Reason } from "#contract"
import type { RunPlan } from "#store"
import { explainFailedStart } from "./start-hints.ts"

const mounts = [
  { source: "/code", target: "/work/code", readOnly: false },
  { source: "/data", target: "/work/data/x", readOnly: true },
]
const plan: RunPlan = {
  type: "http",
  image: "i",
  command: null,
  env: {},
  port: null,
  workDir: "/work/code",
  home: "/h",
  mounts,
  secret: "",
}
const exit = (logTail: string, code: Reason["code"] = "exited"): Reason => ({ code, msg: "It ended", exitCode: 1, logTail })
const hintOf = (logTail: string) => {
  const { msg, hint } = explainFailedStart(plan, exit(logTail))
  return hint === undefined ? msg : `${msg} > ${hint}`
}

const root =
  /^It ended\. The program wants to be root, or to become another user, and runs are never root > Change the image .*; see docs\/how-to\/bring-your/
const workDir =
  /^It ended\. The program may not write to its working directory, since runs are never root > Let the program write to \/work\/code/
const denied = (path: string) =>
  new RegExp(`^It ended\\. The program may not use ${path}, since runs are never root > Ask an administrator`)
const readOnly = (path: string) => new RegExp(`^It ended\\. The program wants to write to ${path}, and the root file system is read-only`)

for (const [line, hint] of [
  [
    'nginx: [alert] could not open error log file: open() "/var/log/nginx/error.log" failed (13: Permission denied)',
    denied("/var/log/nginx/error.log"),
  ],
  ["PermissionError: [Errno 13] Permission denied: '/app/cache'", denied("/app/cache")],
  [
    "/docker-entrypoint.sh: line 9: can't create /etc/nginx/conf.d/default.conf: Permission denied",
    denied("/etc/nginx/conf.d/default.conf"),
  ],
  ["mkdir: cannot create directory '/var/lib/app': Read-only file system", readOnly("/var/lib/app")],
  ["Error: EROFS: read-only file system, mkdir '/root/.npm'", readOnly("/root/.npm")],
  ["Error: Can't drop privilege as nonroot user", root],
  ["sqlite3.OperationalError: unable to open database file", workDir],
  ["PermissionError: [Errno 13] Permission denied: 'mlruns'", workDir],
  ["Error: EACCES: permission denied, mkdir 'cache'", workDir],
  ["This script must be run as root", root],
  ["chown: changing ownership of '/data': Operation not permitted", root],
  ["su-exec: setgroups: Operation not permitted", root],
] as const) {
  test(`a failed start explains "${line}"`, () => {
    assert.match(hintOf(`starting\n${line}\nbye`), hint)
  })
}

test("other output, mounted directories and other reasons add no hint about the image", () => {
  for (const line of ["Traceback: KeyError", "Permission denied", "cannot open /work/code/a: Permission denied", "the root of the tree"])
    assert.equal(hintOf(line), "It ended", line)
  assert.match(
    hintOf("touch: /work/data/x/a: Read-only file system"),
    /wants to write to \/work\/data\/x\/a, and \/work\/data\/x is mounted read-only/,
  )
  const stopped = exit("must be run as root", "stopped_by_user")
  assert.deepEqual(explainFailedStart(plan, stopped), stopped)
})

test("a search that found nothing explains the failure, but a project's own command is never searched", () => {
  const line = "quayside: looked for jupyter-lab in the PATH (/bin)"
  const found = explainFailedStart({ ...plan, type: "jupyterlab" }, exit(line))
  assert.deepEqual([found.code, found.exitCode], ["command_not_found", 1])
  assert.equal(found.msg, "The image has no program of type jupyterlab: looked for jupyter-lab in the PATH (/bin)")
  assert.match(found.hint ?? "", /another type.*; see docs/)
  const own = explainFailedStart(
    { ...plan, type: "jupyterlab" },
    exit(`${line}\nquayside: starting the image's own entry point`, "port_not_open"),
  )
  assert.equal(own.code, "port_not_open")
  assert.match(own.msg, /its own entry point ran instead\. It ended$/)
  assert.equal(explainFailedStart({ ...plan, type: "jupyterlab", command: ["x"] }, exit(line)).msg, "It ended")
  assert.equal(hintOf(line), "It ended")
})
