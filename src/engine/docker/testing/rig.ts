import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { ensureBusyboxImage } from "../../../../test/fixtures/busybox.ts"
import { specOf } from "../../conformance.ts"
import type { Engine, LogLine, RunSpec } from "../../engine.ts"
import { createDockerEngine } from "../engine.ts"
import { instanceLabel } from "../labels.ts"
import type { DockerOptions } from "../options.ts"

const run = promisify(execFile)

/** An instance of its own on a real daemon, for tests; in the end nothing of it is left. */
export interface DockerRig extends AsyncDisposable {
  engine: Engine
  instance: string
  image: string
  filesRoot: string
  stagingDir: string
  /** Another engine; by default of the same instance with a staging folder of its own. */
  open(options?: Partial<DockerOptions>): Promise<Engine>
  /** Makes a directory below the files root, writable by the runs' user. */
  directory(path: string): Promise<string>
  docker(...words: string[]): Promise<string>
  /** Names of the instance's networks. */
  networks(): Promise<string[]>
  /** Runs a shell script as a run's program to its end and answers what it printed. */
  output(script: string, spec: Partial<RunSpec>): Promise<string>
}

export async function makeDockerRig(options: Partial<DockerOptions> = {}): Promise<DockerRig> {
  const socketPath = options.socketPath ?? "/var/run/docker.sock"
  const image = await ensureBusyboxImage(socketPath)
  const folder = await mkdtemp(join(tmpdir(), "quayside-docker-"))
  const instance = `test-${randomBytes(4).toString("hex")}`
  const filesRoot = join(folder, "files")
  const stagingDir = join(folder, "staging")
  await mkdir(filesRoot)
  const docker = async (...words: string[]) => (await run("docker", ["-H", `unix://${socketPath}`, ...words])).stdout.trim()
  let opened = 0
  // A daemon of a test's own has networks of its own, which no rule of this host's is for.
  const firewall = options.socketPath === undefined ? "on" : "off"
  const open = (more: Partial<DockerOptions> = {}) =>
    createDockerEngine({
      instance,
      filesRoot,
      stagingDir: `${stagingDir}-${opened++}`,
      uid: 1000,
      socketPath,
      firewall,
      ...options,
      ...more,
    })
  const engine = await open({ stagingDir })
  return {
    engine,
    instance,
    image,
    filesRoot,
    stagingDir,
    open,
    docker,
    async networks() {
      const names = await docker("network", "ls", "--format", "{{.Name}}", "--filter", `label=${instanceLabel(instance)}`)
      return names.split("\n").filter((name) => name !== "")
    },
    async directory(path) {
      await mkdir(join(filesRoot, path), { recursive: true })
      await run("chown", ["1000:1000", join(filesRoot, path)])
      return `/${path}`
    },
    output: (script, spec) => outputOf(engine, specOf({ image, ...spec, command: ["sh", "-c", script] })),
    async [Symbol.asyncDispose]() {
      for (const each of await engine.observe()) await engine.stop(each.key, { graceMs: 0 })
      await engine[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
  }
}

async function outputOf(engine: Engine, spec: RunSpec): Promise<string> {
  await engine.start(spec, () => {}, new AbortController().signal)
  const lines: LogLine[] = await Array.fromAsync(engine.logs(spec.key, { follow: true }))
  await engine.stop(spec.key, { graceMs: 0 })
  return lines.map((line) => line.text).join("\n")
}
