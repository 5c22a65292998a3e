export interface LogOptions {
  /** Only the last `tail` lines. Default: all. */
  tail?: number
  /** Milliseconds since the epoch; older lines are skipped. */
  since?: number
  follow?: boolean
  /** Only the output of this rank of a run on several nodes. Default: that of all. */
  rank?: number
  signal?: AbortSignal
}

export interface ContainerLogLine {
  /** Milliseconds since the epoch. */
  time: number
  stream: "stdout" | "stderr"
  /** The rank of the node, of a run on several ones. */
  rank?: number
  /** Without its line end; a line over 16 KiB is split. */
  text: string
}
