/** The person for whom a list is made, as far as lists need to know. */
export interface Viewer {
  userId: number
  groupIds: readonly number[]
  /** Lists are not filtered: administrators see all rows. */
  seesAll: boolean
}

/** For lists that the service reads for itself. */
export const unrestrictedViewer: Viewer = { userId: 0, groupIds: [], seesAll: true }
