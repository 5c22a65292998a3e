export interface HistorySearch {
  /** Only starts that failed. */
  state?: "failed"
  person?: string
  project?: number
  page?: number
}
