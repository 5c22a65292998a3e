import assert from "node:assert/strict"
import { test } from "node:test"
import type { Reason } from "#contract"
import type { RunPlan } from "#store"
import { createReason } from "../lifecycle/reasons.ts"
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

const installs = (path: string) =>
  new RegExp(`^It ended\\. The program may not use ${path}, since runs are never root > Install packages .* when the image is built`)
const lacks = (name: string) => new RegExp(`^It ended\\. The program lacks the package "${name}" > Add the package to the image`)

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
  ["mkdir: cannot create directory ‘/var/lib/app’: Read-only file system", readOnly("/var/lib/app")],
  ["touch: cannot touch ‘/srv/a’: Permission denied", denied("/srv/a")],
  ["mkdir: cannot create directory ‘cache’: Permission denied", workDir],
  ["E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)", installs("/var/lib/dpkg/lock-frontend")],
  ["E: List directory /var/lib/apt/lists/partial is missing. - Acquire (13: Permission denied)", installs("/var/lib/apt/lists/partial")],
  ["ModuleNotFoundError: No module named 'sklearn.svm'", lacks("sklearn.svm")],
  ["/usr/bin/python3: No module named streamlit", lacks("streamlit")],
  ["Error in library(dplyr) : there is no package called ‘dplyr’", lacks("dplyr")],
  ["Error: Cannot find module 'express'", lacks("express")],
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
  for (const line of [
    "Traceback: KeyError",
    "Permission denied",
    "cannot open /work/code/a: Permission denied",
    "the root of the tree",
    "Error: Cannot find module '/work/code/a.js'",
  ])
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

for (const [command, hint] of [
  [["cd", "/work", "&&", "python3", "app.py"], 'No shell reads the Command: write sh -c "…" around it'],
  [["python3", "app.py", "|", "tee", "log"], 'No shell reads the Command: write sh -c "…" around it'],
  [["pip", "install", "flask;", "flask", "run"], 'No shell reads the Command: write sh -c "…" around it'],
  [["DEBUG=1", "python3", "app.py"], "Set DEBUG in the image's Env: no shell reads the Command"],
  [["sudo", "nginx"], "Leave out sudo: runs are never root, and ports below 1024 need no root in a run"],
  [["sh", "-c", "cd /work; python3 app.py && true"], undefined],
  [["python3", "app.py", "--name=a"], undefined],
] as const) {
  test(`the failed command ${JSON.stringify(command.join(" "))} ${hint ? "gets a hint of its own" : "gets none"}`, () => {
    const reason = createReason("command_not_found")
    assert.deepEqual(explainFailedStart({ ...plan, command }, reason), hint ? { ...reason, hint } : reason)
  })
}
