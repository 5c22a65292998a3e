import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { instanceLabel } from "./labels.ts"

const run = promisify(execFile)

/** Removes the networks of an instance; for tests, which make instances of their own. */
export async function removeNetworks(instance: string): Promise<void> {
  const { stdout } = await run("docker", ["network", "ls", "--quiet", "--filter", `label=${instanceLabel(instance)}`])
  const ids = stdout.split("\n").filter((id) => id !== "")
  if (ids.length > 0) await run("docker", ["network", "rm", ...ids])
}
