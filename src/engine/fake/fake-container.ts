import type { LogLine, RunSpec } from "../engine.ts"

/** What is kept of a spec: no credentials. */
export type FakeSpec = Omit<RunSpec, "imagePolicy">

/** One fake container, as it is written to the state directory. */
export interface FakeContainer {
  instance: string
  spec: FakeSpec
  state: "created" | "running" | "exited"
  exitCode: number | null
  oomKilled: boolean
  startedAt: number | null
  finishedAt: number | null
  lines: LogLine[]
}
