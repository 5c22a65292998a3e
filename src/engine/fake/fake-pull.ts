import { reasonSentences } from "#contract"
import { EngineError, type Progress, type RegistryCredentials } from "../engine.ts"
import { assertImageSize } from "../image-policy.ts"
import type { Behaviour } from "./behaviour.ts"
import type { FakeDaemon } from "./fake-daemon.ts"

const usualBytes = 10_000_000
const steps = 10

export interface FakePull {
  image: string
  behaviour: Behaviour
  credentials: RegistryCredentials | undefined
  maxBytes: number
  report(progress: Progress | null): void
  signal: AbortSignal
}

export function bytesOf({ name, argument }: Behaviour): number {
  return name === "huge" ? argument * 2 ** 30 : usualBytes
}

/** Rejects where the pretended registry does not hand the image out. */
export function ask({ needsCredentials, builtHere }: Behaviour, credentials: RegistryCredentials | undefined): void {
  if (builtHere) throw denialReason("image_not_found")
  const knows = credentials?.username === "robot" && credentials.password === "robot-password"
  if (needsCredentials && !knows) throw denialReason("image_pull_denied")
}

/** Pretends to fetch an image, in ten steps. */
export async function pull(daemon: FakeDaemon, { image, behaviour, credentials, maxBytes, report, signal }: FakePull): Promise<void> {
  signal.throwIfAborted()
  report(null)
  ask(behaviour, credentials)
  const bytes = bytesOf(behaviour)
  if (behaviour.pull && behaviour.pull !== "image_pull_failed") throw denialReason(behaviour.pull)
  const wait = behaviour.name === "slow-pull" ? behaviour.argument / steps : 0
  for (let step = 1; step <= steps; step += 1) {
    if (wait > 0) await daemon.clock.sleep(wait, signal)
    assertImageSize(bytes, maxBytes)
    report({ step: "downloading", current: (bytes / steps) * step, total: bytes, unit: "bytes" })
    if (step === steps / 2 && behaviour.pull) throw denialReason(behaviour.pull)
    if (step === steps / 2 && behaviour.stuck === "pulling") await untilAborted(signal)
  }
  daemon.images.add(image)
}

function denialReason(code: keyof typeof reasonSentences): EngineError {
  return new EngineError(code, reasonSentences[code], { detail: "said by the fake registry" })
}

export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true })
  })
}
