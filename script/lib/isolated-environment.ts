import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"

const run = promisify(execFile)
const bootMs = 60_000
const groupsRoot = "/sys/fs/cgroup"

/**
 * An environment with processes, mounts, a network and a Docker daemon of its own. The kernel ends
 * all of them with it, also processes that hang. The daemon's images remain for the next time.
 */
export interface IsolatedEnvironment extends AsyncDisposable {
  /** Starts it, also again after `stop`. Its daemon has only images. */
  start(): Promise<void>
  /** The command prefix that runs a program in the environment, in a directory. */
  commandPrefix(directory: string): readonly string[]
  /** Resolves when only the images are left. */
  stop(): Promise<void>
}

/**
 * The first process. Its mounts are visible only in the environment. Control groups are mounted
 * again because a new `/sys` hides them.
 */
const first = `set -e
mkdir -p "$1/groups" "$1/run"
mount --rbind ${groupsRoot} "$1/groups"
mount -t sysfs sysfs /sys
mount --rbind "$1/groups" ${groupsRoot}
mkdir -p /run/netns
mount -t tmpfs tmpfs /run/netns
ip link set lo up
dockerd --data-root "$1/data" --exec-root "$1/run" --pidfile "$1/run/pid" --host "unix://$1/run/docker.sock" --cgroup-parent "/$2" \\
  --exec-opt native.cgroupdriver=cgroupfs --log-level warn >>"$1/dockerd.log" 2>&1 &
for n in $(seq 600); do [ ! -S "$1/run/docker.sock" ] || break; sleep 0.1; done
mount --bind "$1/run/docker.sock" /var/run/docker.sock
docker version >/dev/null
docker system prune --force --volumes >/dev/null
touch "$1/run/up"
exec sleep infinity`

/** Copies the images of this machine's daemon. Needs root. */
export async function openIsolatedEnvironment(images: readonly string[]): Promise<IsolatedEnvironment> {
  const folder = mkdtempSync(join(tmpdir(), "quayside-isolated-"))
  const group = basename(folder)
  let init: ChildProcess | undefined
  let pid = 0
  const namespaces = ["--pid", "--mount", "--net"]
  const environment: IsolatedEnvironment = {
    commandPrefix(directory) {
      return ["nsenter", `--target=${pid}`, ...namespaces, "sh", "-c", 'cd "$0" && exec "$@"', directory]
    },
    async start() {
      rmSync(join(folder, "run"), { recursive: true, force: true })
      const options = ["--fork", "--kill-child", "--mount-proc", "--propagation", "private"]
      init = spawn("unshare", [...namespaces, ...options, "bash", "-c", first, "environment", folder, group], { stdio: "ignore" })
      await isUp(init, folder)
      pid = Number(readFileSync(`/proc/${init.pid}/task/${init.pid}/children`, "utf8").trim().split(" ")[0])
    },
    async stop() {
      if (init === undefined) return
      const ended = once(init, "exit")
      if (init.exitCode === null && init.signalCode === null) {
        // All processes of a namespace end with its first one.
        if (pid !== 0) process.kill(pid, "SIGKILL")
        else init.kill("SIGKILL")
        await ended
      }
      init = undefined
      pid = 0
      await removeGroups(group)
    },
    async [Symbol.asyncDispose]() {
      await environment.stop()
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
  mkdirSync(join(folder, "data"))
  try {
    await environment.start()
    await load(images, `unix://${folder}/run/docker.sock`)
  } catch (error) {
    await environment[Symbol.asyncDispose]()
    throw error
  }
  return environment
}

/** Skips missing images: tests create them or report them. */
async function load(images: readonly string[], host: string): Promise<void> {
  for (const image of images) {
    if (
      !(await run("docker", ["image", "inspect", image]).then(
        () => true,
        () => false,
      ))
    )
      continue
    await run("bash", ["-o", "pipefail", "-c", 'docker save "$1" | docker --host "$2" load', "load", image, host])
  }
}

async function isUp(init: ChildProcess, folder: string): Promise<void> {
  const until = Date.now() + bootMs
  while (!existsSync(join(folder, "run", "up"))) {
    if (init.exitCode !== null || Date.now() > until) {
      const said = existsSync(join(folder, "dockerd.log")) ? readFileSync(join(folder, "dockerd.log"), "utf8").slice(-2_000) : ""
      throw new Error(`A Docker daemon of its own does not start: ${said}`)
    }
    await sleep(50)
  }
}

/** They are empty once the kernel has let go of the last process. */
async function removeGroups(group: string): Promise<void> {
  const roots = [groupsRoot, ...readdirSync(groupsRoot).map((name) => join(groupsRoot, name))].map((root) => join(root, group))
  for (const root of roots.filter((path) => existsSync(path))) {
    for (let tries = 100; existsSync(root) && tries > 0; tries -= 1) {
      removeEmpty(root)
      if (existsSync(root)) await sleep(50)
    }
  }
}

function removeEmpty(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) if (entry.isDirectory()) removeEmpty(join(path, entry.name))
  try {
    rmdirSync(path)
  } catch {
    // Tried again.
  }
}
