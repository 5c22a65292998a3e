import type { ContainerLogLine, RunSpec } from "../engine.ts"

/** The stored part of a spec: no credentials. */
export type StoredSpec = Omit<RunSpec, "imagePolicy">

/** A fake container, as stored in the state directory. */
export interface FakeContainer {
  instance: string
  spec: StoredSpec
  state: "created" | "running" | "exited"
  exitCode: number | null
  oomKilled: boolean
  startedAt: number | null
  finishedAt: number | null
  lines: ContainerLogLine[]
}
