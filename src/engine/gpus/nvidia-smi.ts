import { type ChildProcess, execFile } from "node:child_process"
import { access, constants } from "node:fs/promises"
import { join } from "node:path"
import { childEnvironment } from "../docker/host/child-environment.ts"
import type { GpuUsage } from "./gpu-provider.ts"

const defaultTimeoutMs = 10_000
const maxOutputBytes = 2 ** 20

/** One device as its driver describes it. */
export interface GpuReading extends GpuUsage {
  id: string
  model: string
  /** 0 if the device shares the memory of the host. */
  memoryMiB: number
  /** Why no run can use it. */
  fault: string | undefined
}

/** The result of one query. `message` is the first line that describes no device. */
export interface GpuQueryResult {
  readings: GpuReading[]
  message: string | undefined
  isComplete: boolean
}

/** Fields that older drivers lack. */
const optionalFields = ["mig.mode.current", "gpu_recovery_action"]
/** The name comes last, so that a comma in it moves no other field. */
const requiredFields = ["uuid", "memory.total", "memory.used", "utilization.gpu"]

/** Queries the devices with NVIDIA's `nvidia-smi`. One process at a time. */
export class NvidiaSmi {
  readonly #path: string
  readonly #timeoutMs: number
  #fields = [...requiredFields, ...optionalFields, "name"]
  /** A process that did not end in time: a broken driver may hold it in the kernel for ever. */
  #stuck: ChildProcess | undefined

  /** `path` lists the directories to search. */
  constructor({ path = childEnvironment.PATH, timeoutMs = defaultTimeoutMs }: { path?: string; timeoutMs?: number } = {}) {
    this.#path = path
    this.#timeoutMs = timeoutMs
  }

  /** Undefined if the program is not installed. Never rejects. */
  async query(id?: string): Promise<GpuQueryResult | undefined> {
    const file = await findExecutable("nvidia-smi", this.#path)
    if (file === undefined) return undefined
    if (this.#stuck) return { readings: [], message: "an earlier call of nvidia-smi has not ended yet", isComplete: false }
    for (;;) {
      const fields = this.#fields
      const words = [...(id === undefined ? [] : [`--id=${id}`]), `--query-gpu=${fields.join(",")}`, "--format=csv,noheader,nounits"]
      const { text, isSuccess } = await this.#run(file, words)
      const unknownField = /^Field "([\w.]+)" is not a valid field to query/m.exec(text)?.[1]
      if (unknownField === undefined || !optionalFields.includes(unknownField) || !fields.includes(unknownField))
        return { ...parseReadings(text, fields), isComplete: isSuccess }
      this.#fields = fields.filter((field) => field !== unknownField)
    }
  }

  #run(file: string, words: string[]): Promise<{ text: string; isSuccess: boolean }> {
    const { promise, resolve } = Promise.withResolvers<{ text: string; isSuccess: boolean }>()
    const options = { env: { ...childEnvironment, PATH: this.#path }, maxBuffer: maxOutputBytes }
    const child = execFile(file, words, options, (error, stdout, stderr) => {
      clearTimeout(timer)
      if (this.#stuck === child) this.#stuck = undefined
      // Drivers differ in the stream on which the tool reports an error.
      const text = `${stdout}\n${stderr}`
      resolve({ text: text.trim() === "" && error ? error.message : text, isSuccess: error === null })
    })
    const timer = setTimeout(() => {
      this.#stuck = child
      child.kill("SIGKILL")
      child.unref()
      child.stdout?.destroy()
      child.stderr?.destroy()
      resolve({ text: `nvidia-smi did not end within ${this.#timeoutMs / 1_000} s`, isSuccess: false })
    }, this.#timeoutMs)
    return promise
  }
}

async function findExecutable(name: string, path: string): Promise<string | undefined> {
  for (const directory of path.split(":")) {
    const file = join(directory, name)
    const isExecutable = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isExecutable) return file
  }
  return undefined
}

/** The rows of CSV output; other lines are messages about devices that do not answer. */
export function parseReadings(text: string, fields: readonly string[]): Omit<GpuQueryResult, "isComplete"> {
  const readings: GpuReading[] = []
  const messages: string[] = []
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue
    const reading = readingOf(line, fields)
    if (reading) readings.push(reading)
    else messages.push(line.trim())
  }
  return { readings, message: messages[0]?.slice(0, 200) }
}

function readingOf(line: string, fields: readonly string[]): GpuReading | undefined {
  const words = line.split(",").map((word) => word.trim())
  const values = new Map(fields.map((field, n) => [field, field === "name" ? words.slice(n).join(", ") : (words[n] ?? "")]))
  const value = (field: string) => values.get(field) ?? ""
  const id = value("uuid")
  if (!/^GPU-[0-9a-f-]{1,64}$/i.test(id) || words.length < fields.length) return undefined
  const busy = numberOf(value("utilization.gpu"))
  const used = numberOf(value("memory.used"))
  return {
    id,
    model: value("name"),
    memoryMiB: numberOf(value("memory.total")) ?? 0,
    memory: used === null ? null : used * 2 ** 20,
    busy: busy === null ? null : busy / 100,
    fault: faultOf(words, value),
  }
}

/** Drivers print words such as `[N/A]` for values that a device does not have. */
function numberOf(text: string): number | null {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : null
}

function faultOf(words: readonly string[], value: (field: string) => string): string | undefined {
  if (words.some((word) => /GPU is lost/i.test(word))) return "it has fallen off the bus"
  if (words.some((word) => /requires reset/i.test(word))) return "it needs a reset"
  if (/Unknown Error|ERR!/i.test(`${value("memory.total")} ${value("memory.used")}`)) return "its driver reports an unknown error"
  const action = value("gpu_recovery_action")
  if (/^[a-z0-9 ]+$/i.test(action) && action !== "None") return `its driver asks for this recovery: ${action}`
  if (value("mig.mode.current") === "Enabled") return "it is split into MIG devices, which cannot be requested"
  return undefined
}
