import { reasonSentences } from "#contract"
import { EngineError, type StartStep } from "../engine.ts"
import type { Behaviour } from "./behaviour.ts"
import type { FakeWorld } from "./world.ts"

const bytes = 10_000_000
const steps = 10

export interface FakePull {
  image: string
  behaviour: Behaviour
  report(step: StartStep): void
  signal: AbortSignal
}

/** Pretends to fetch an image that the world does not have, in ten steps. */
export async function pull(world: FakeWorld, { image, behaviour, report, signal }: FakePull): Promise<void> {
  signal.throwIfAborted()
  if (world.images.has(image)) return
  report({ state: "pulling", progress: null })
  if (behaviour.pull && behaviour.pull !== "image_pull_failed") throw refusal(behaviour.pull)
  const wait = behaviour.name === "slow-pull" ? behaviour.argument / steps : 0
  for (let step = 1; step <= steps; step += 1) {
    if (wait > 0) await world.clock.sleep(wait, signal)
    report({ state: "pulling", progress: { step: "downloading", current: (bytes / steps) * step, total: bytes, unit: "bytes" } })
    if (step === steps / 2 && behaviour.pull) throw refusal(behaviour.pull)
    if (step === steps / 2 && behaviour.stuck === "pulling") await untilAborted(signal)
  }
  world.images.add(image)
}

function refusal(code: keyof typeof reasonSentences): EngineError {
  return new EngineError(code, reasonSentences[code], { detail: "said by the fake registry" })
}

export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true })
  })
}
