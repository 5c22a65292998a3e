import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { chown, mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { createEngine, type Engine } from "#engine"
import type { RunPlan } from "#store"

const exec = promisify(execFile)
const uid = 1000

/** A separate instance on the machine's Docker daemon, which disposal removes completely. */
export class DockerFixture implements AsyncDisposable {
  readonly #folder: string
  readonly #instance = `test-${randomBytes(4).toString("hex")}`
  #opened = 0
  readonly #resources = new AsyncDisposableStack()

  private constructor(folder: string) {
    this.#folder = folder
  }

  static async open(): Promise<DockerFixture> {
    const fixture = new DockerFixture(await mkdtemp(join(tmpdir(), "quayside-runs-docker-")))
    for (const name of ["code", "home"]) {
      await mkdir(join(fixture.#folder, "files", name), { recursive: true })
      await chown(join(fixture.#folder, "files", name), uid, uid)
    }
    return fixture
  }

  get logsDir(): string {
    return join(this.#folder, "logs")
  }

  async engine(): Promise<Engine> {
    this.#opened += 1
    const stagingDir = join(this.#folder, `staging-${this.#opened}`)
    const engine = await createEngine({ kind: "docker", instance: this.#instance, filesRoot: join(this.#folder, "files"), stagingDir, uid })
    return this.#resources.use(engine)
  }

  plan(fields: Partial<RunPlan>): Partial<RunPlan> {
    const mounts = [
      { source: "/code", target: "/work/code", readOnly: false },
      { source: "/home", target: "/work/home", readOnly: false },
    ]
    return { mounts, workDir: "/work/code", home: "/work/home", secret: randomBytes(16).toString("hex"), ...fields }
  }

  async docker(...words: string[]): Promise<string> {
    return (await exec("docker", words)).stdout.trim()
  }

  /** The container of a run, by the key in its name. */
  async containerOf(key: string): Promise<string> {
    return this.docker("ps", "--all", "--quiet", "--filter", `name=${key}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const engine = await this.engine()
    for (const { key } of await engine.observe()) await engine.stop(key, { graceMs: 0 })
    await this.#resources.disposeAsync()
    await rm(this.#folder, { recursive: true })
  }
}
