import { Failure, type Reason } from "#contract"
import type { EngineError } from "#engine"
import type { RunPlan, RunRow } from "#store"
import type { Node } from "./scheduler.ts"

/** A requested start with everything looked up that it names. */
export interface StartRequest {
  userId: number
  userName: string
  projectId: number
  plan: RunPlan
  /**
   * Whole counts and MiB; 0 means the default. `gpuMemoryMiB` is what each GPU must have at least.
   */
  resources: { nodes: number; cpus: number; memoryMiB: number; gpus: number; gpuMemoryMiB: number }
  /** A reason known by the caller why it cannot start: the run is stored as `failed` with it. */
  refusal?: Reason | undefined
}

/** The caller's own key for a start; a second start with it returns the same run. */
export interface IdempotencyKey {
  key: string
  /** sha256 of the body. */
  bodyHash: string
}

/** A person has at most one live run of a project. */
export class AlreadyRunningError extends Failure {
  readonly run: RunRow

  constructor(run: RunRow) {
    super("already_running", `${run.userName} runs this project already: run ${run.id} is ${run.state}`, {
      extra: { ID: run.id, State: run.state },
    })
    this.run = run
  }
}

/** Input of admission beside the database. */
export interface AdmissionInput {
  request: StartRequest
  nodes: Node[] | EngineError
  containerDevices: ReadonlySet<string>
}
