import type Dockerode from "dockerode"
import { reasonSentences } from "#contract"
import { type Clock, systemClock } from "#kit"
import { EngineError } from "../../engine.ts"
import type { DockerClient } from "../client/docker-client.ts"
import { undefinedIfNotFound } from "../client/errors.ts"
import type { PinnedMount } from "../mounts/mount-pins.ts"
import { readLogs } from "../observe/read-logs.ts"
import { waitForProgram } from "./program-state.ts"

/**
 * What the init prints when the image has no such program, or it may not be run; the exit code
 * alone could be the program's own.
 */
const initRefusal = /\[FATAL\s+tini \(\d+\)\] exec /

/**
 * Whether the init says in one of these lines that there is no such program. People's programs
 * write to the same output.
 */
export function isCommandMissing(output: string): boolean {
  return output.split("\n").some((line) => {
    const start = line.search(initRefusal)
    return start >= 0 && line.includes(" failed", start)
  })
}

/**
 * Tells whether a container's program has really begun. Engines say so when their init runs; the
 * program may still be missing.
 */
export class StartCheck {
  readonly #client: DockerClient
  readonly #clock: Clock
  /** Whether the daemon's processes can be seen from here; learnt from the first start. */
  #processes: "unknown" | "seen" | "hidden" = "unknown"

  constructor(client: DockerClient, clock: Clock = systemClock) {
    this.#client = client
    this.#clock = clock
  }

  /**
   * Throws where the program could not be run at all, or sees other directories than were pinned.
   */
  async check(id: string, pinned: readonly PinnedMount[]): Promise<void> {
    const { Running, Pid } = await this.#state(id)
    if (Running && this.#processes === "hidden") return refuseUnchecked(pinned)
    if (Running && (await waitForProgram(Pid, pinned, this.#clock)) === "running") {
      this.#processes = "seen"
      return
    }
    const { Running: stillRunning, ExitCode } = await this.#ended(id)
    if (stillRunning) {
      if (this.#processes === "unknown") this.#processes = "hidden"
      return refuseUnchecked(pinned)
    }
    if (ExitCode === 126 || ExitCode === 127) await this.#refuseMissingCommand(id)
  }

  /** The daemon learns of an end a little later than `/proc` shows it. */
  async #ended(id: string): Promise<Dockerode.ContainerInspectInfo["State"]> {
    const timeoutMs = this.#processes === "seen" ? 15_000 : 2_000
    await this.#client
      .call((docker, abort) => docker.getContainer(id).wait({ condition: "not-running", ...abort }), { timeoutMs })
      .catch(() => {})
    return this.#state(id)
  }

  async #refuseMissingCommand(id: string): Promise<void> {
    const output = (await Array.fromAsync(readLogs(this.#client, id, { tail: 5 }))).map((line) => line.text).join("\n")
    if (isCommandMissing(output)) throw new EngineError("command_not_found", reasonSentences.command_not_found, { detail: output })
  }

  async #state(id: string): Promise<Dockerode.ContainerInspectInfo["State"]> {
    const found = await undefinedIfNotFound(this.#client.call((docker, abort) => docker.getContainer(id).inspect(abort)))
    if (!found) throw new EngineError("lost", reasonSentences.lost)
    return found.State
  }
}

/**
 * The daemon lives in another PID namespace, and so perhaps in another mount namespace, where it
 * sees none of the pins.
 */
function refuseUnchecked(pinned: readonly PinnedMount[]): void {
  if (pinned.every((mount) => mount.identity === undefined)) return
  throw new EngineError(
    "engine_error",
    "Mounts cannot be checked: with isolation Quayside must run beside the container engine, not in a container",
  )
}
