import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Collects what the start left behind and gives it back to the system, once, when the service has settled: an idle server would keep it for hours. */
export function trimAfterStart(): void {
  setTimeout(() => {
    setFlagsFromString("--expose-gc")
    const collect = runInNewContext("gc") as NodeJS.GCFunction
    collect({ type: "major", execution: "sync", flavor: "last-resort" })
    setFlagsFromString("--no-expose-gc")
  }, 3_000).unref()
}
