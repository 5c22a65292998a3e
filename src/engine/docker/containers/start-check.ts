import type Dockerode from "dockerode"
import { reasonMessages } from "#contract"
import { type Clock, systemClock } from "#kit"
import { EngineError } from "../../engine.ts"
import type { DockerClient } from "../client/docker-client.ts"
import { undefinedIfNotFound } from "../client/errors.ts"
import type { PinnedMount } from "../mounts/mount-pins.ts"
import { readLogs } from "../observe/read-logs.ts"
import { waitForProgramStart } from "./program-start.ts"

/**
 * The init's exit codes and its message for a program that is missing, not executable or made for
 * another processor; the exit code alone could be the program's own.
 */
const initExitCodes = [1, 126, 127]
const initRefusal = /\[FATAL\s+tini \(\d+\)\] exec /

/**
 * Whether the init reports a missing program in one of these lines. The run's own program writes to
 * the same output.
 */
export function isCommandMissing(output: string): boolean {
  return output.split("\n").some((line) => {
    const start = line.search(initRefusal)
    return start >= 0 && line.includes(" failed", start)
  })
}

/**
 * Checks that a container's program has really started. Engines report a start when their init
 * runs; the program may still be missing.
 */
export class StartCheck {
  readonly #client: DockerClient
  readonly #clock: Clock
  /** Whether the daemon's processes are visible from here; known after the first start. */
  #processVisibility: "unknown" | "visible" | "hidden" = "unknown"

  constructor(client: DockerClient, clock: Clock = systemClock) {
    this.#client = client
    this.#clock = clock
  }

  /** Throws if the program could not be run, or sees other directories than were pinned. */
  async check(id: string, pinned: readonly PinnedMount[]): Promise<void> {
    const { Running, Pid } = await this.#state(id)
    if (Running && this.#processVisibility === "hidden") return rejectUncheckedMounts(pinned)
    if (Running && (await waitForProgramStart(Pid, pinned, this.#clock)) === "running") {
      this.#processVisibility = "visible"
      return
    }
    const { Running: stillRunning, ExitCode } = await this.#waitForEnd(id)
    if (stillRunning) {
      if (this.#processVisibility === "unknown") this.#processVisibility = "hidden"
      return rejectUncheckedMounts(pinned)
    }
    if (initExitCodes.includes(ExitCode)) await this.#rejectMissingCommand(id)
  }

  /** The daemon notices an exit a little later than `/proc` shows it. */
  async #waitForEnd(id: string): Promise<Dockerode.ContainerInspectInfo["State"]> {
    const timeoutMs = this.#processVisibility === "visible" ? 15_000 : 2_000
    await this.#client
      .call((docker, abort) => docker.getContainer(id).wait({ condition: "not-running", ...abort }), { timeoutMs })
      .catch(() => {})
    return this.#state(id)
  }

  async #rejectMissingCommand(id: string): Promise<void> {
    const output = (await Array.fromAsync(readLogs(this.#client, id, { tail: 5 }))).map((line) => line.text).join("\n")
    if (isCommandMissing(output)) throw new EngineError("command_not_found", reasonMessages.command_not_found, { detail: output })
  }

  async #state(id: string): Promise<Dockerode.ContainerInspectInfo["State"]> {
    const found = await undefinedIfNotFound(this.#client.call((docker, abort) => docker.getContainer(id).inspect(abort)))
    if (!found) throw new EngineError("lost", reasonMessages.lost)
    return found.State
  }
}

/**
 * The daemon lives in another PID namespace, and so perhaps in another mount namespace, without our
 * pins.
 */
function rejectUncheckedMounts(pinned: readonly PinnedMount[]): void {
  if (pinned.every((mount) => mount.identity === undefined)) return
  throw new EngineError(
    "engine_error",
    "Mounts cannot be checked: isolation requires Quayside to run beside the container engine, not in a container",
  )
}
