// An attack of a run's program through the kernel, with its person's requests: see
// bench/lock-holder.ts. The program is a process beside the servers, in the person's home.
import { spawn } from "node:child_process"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { lockHolderNames } from "../lock-holder.ts"
import type { Attack } from "./attack.ts"
import { type Attacker, attack, repeat, send } from "./person.ts"

const program = fileURLToPath(new URL("../lock-holder.ts", import.meta.url))

function holdLocks(directory: string): Disposable {
  const child = spawn(process.execPath, [program, directory], { stdio: ["pipe", "ignore", "inherit"] })
  return {
    [Symbol.dispose]() {
      child.kill("SIGKILL")
      // Waits for the call in which the process is.
      for (const name of Object.values(lockHolderNames)) rmSync(join(directory, name), { recursive: true, force: true })
    },
  }
}

function askForHeld(attacker: Attacker): Disposable {
  const home = `${attacker.server.filesUrl}/users/eve`
  let n = 0
  return repeat(4, async () => {
    await send(attacker, `${home}/missing-${n++}`)
    await send(attacker, `${home}/${lockHolderNames.file}`, { method: "PUT", body: "x" })
    await send(attacker, `${home}/`, { method: "PROPFIND", headers: { depth: "1" } })
  })
}

export const attacks: readonly Attack[] = [
  attack("locks of the kernel held in a home, and requests for names there, 4 at once", (attacker) => {
    using held = new DisposableStack()
    held.use(holdLocks(join(attacker.server.directory, "data/files/users/eve")))
    held.use(askForHeld(attacker))
    return held.move()
  }),
]
