import { execFile } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"

const run = promisify(execFile)

export const docker = async (...words: string[]) => (await run("docker", words, { maxBuffer: 1 << 26 })).stdout.trim()

export interface Container extends AsyncDisposable {
  readonly address: string
}

/** A container of the image, without arguments from the test. */
async function startContainer(image: string, ...options: string[]): Promise<Container> {
  const id = await docker("run", "--detach", "--init", ...options, image)
  const address = await docker("inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", id)
  return { address, [Symbol.asyncDispose]: async () => void (await docker("rm", "--force", id)) }
}

/** Options of a container that is confined as runs are. */
export const confined = [
  ["--read-only", "--tmpfs", "/tmp", "--user", "1000:1000"],
  ["--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
].flat()

/** The same, confined as runs are, with an empty home that can be written. */
export function startConfined(image: string, ...options: string[]): Promise<Container> {
  return startContainer(image, ...confined, "--tmpfs", "/home/user:uid=1000,gid=1000", ...options)
}

export async function waitForAnswer(url: string): Promise<Response> {
  const deadline = AbortSignal.timeout(60_000)
  for (;;) {
    const response = await fetch(url, { signal: deadline }).catch(() => undefined)
    if (response) return response
    await sleep(50, undefined, { signal: deadline })
  }
}
