import { chmod, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface FakeNvidiaSmi extends AsyncDisposable {
  /** The directory of the program, for `gpuToolPath`. */
  path: string
  /** Sets the program's output and exit status from now on. */
  print(text: string, status?: number): Promise<void>
  /** The shell commands that the program runs from now on; `$*` are its arguments. */
  run(script: string): Promise<void>
  /** The arguments of each call so far. */
  calls(): Promise<string[]>
}

/** An executable `nvidia-smi` that prints recorded output: no test has a real device. */
export async function fakeNvidiaSmi(text: string): Promise<FakeNvidiaSmi> {
  const path = await mkdtemp(join(tmpdir(), "quayside-nvidia-smi-"))
  const file = join(path, "nvidia-smi")
  const log = join(path, "calls")
  const run = async (script: string) => {
    await writeFile(`${file}.new`, `#!/bin/sh\nPATH=/usr/bin:/bin\necho "$*" >>${log}\n${script}\n`)
    await chmod(`${file}.new`, 0o755)
    await rename(`${file}.new`, file)
  }
  const print = async (output: string, status = 0) => {
    await writeFile(join(path, "output"), output)
    await run(`cat ${join(path, "output")}; exit ${status}`)
  }
  await print(text)
  return {
    path,
    print,
    run,
    calls: async () => (await readFile(log, "utf8").catch(() => "")).split("\n").filter((line) => line !== ""),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  }
}
