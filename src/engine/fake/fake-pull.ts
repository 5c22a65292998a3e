import { reasonMessages } from "#contract"
import { EngineError, type Progress, type RegistryCredentials } from "../engine.ts"
import { assertImageSize } from "../image-policy.ts"
import type { Behaviour } from "./behaviour.ts"
import type { FakeDaemon } from "./fake-daemon.ts"

const defaultBytes = 10_000_000
const steps = 10

export interface FakePull {
  behaviour: Behaviour
  credentials: RegistryCredentials | undefined
  maxBytes: number
  report(progress: Progress | null): void
  signal: AbortSignal
}

export function fakeImageSize({ name, argument }: Behaviour): number {
  return name === "huge" ? argument * 2 ** 30 : defaultBytes
}

/** Throws if the simulated registry denies access to the image. */
export function checkCredentials({ needsCredentials, builtHere }: Behaviour, credentials: RegistryCredentials | undefined): void {
  if (builtHere) throw pullError("image_not_found")
  const isAuthorized = credentials?.username === "robot" && credentials.password === "robot-password"
  if (needsCredentials && !isAuthorized) throw pullError("image_pull_denied")
}

/** Throws if the simulated registry refuses a pull at once. */
export function checkFakePull(behaviour: Behaviour, credentials: RegistryCredentials | undefined): void {
  checkCredentials(behaviour, credentials)
  if (behaviour.pull && behaviour.pull !== "image_pull_failed") throw pullError(behaviour.pull)
}

/** Simulates the download of a pull, in ten steps. */
export async function pullFakeImage(daemon: FakeDaemon, { behaviour, credentials, maxBytes, report, signal }: FakePull): Promise<void> {
  signal.throwIfAborted()
  report(null)
  checkFakePull(behaviour, credentials)
  const bytes = fakeImageSize(behaviour)
  const stepMs = behaviour.name === "slow-pull" ? behaviour.argument / steps : 0
  for (let step = 1; step <= steps; step += 1) {
    if (stepMs > 0) await daemon.clock.sleep(stepMs, signal)
    assertImageSize(bytes, maxBytes)
    report({ step: "downloading", current: (bytes / steps) * step, total: bytes, unit: "bytes" })
    if (step === steps / 2 && behaviour.pull) throw pullError(behaviour.pull)
    if (step === steps / 2 && behaviour.stuck === "pulling") await rejectOnAbort(signal)
  }
}

function pullError(code: keyof typeof reasonMessages): EngineError {
  return new EngineError(code, reasonMessages[code], { detail: "reported by the fake registry" })
}

export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true })
  })
}
