export interface RunAddress {
  host: string
  port: number
  /**
   * Whether the run still has this address: another run may have received it already, before
   * `observe` shows that. Call it after connecting and before sending anything. Absent if the
   * engine cannot know.
   */
  isCurrent?: () => boolean
}

export interface ListeningPort {
  port: number
  /** Whether only programs of the same container reach it. */
  isLocal: boolean
}
