/** The person for whom a list is made, with the rights that lists need. */
export interface Viewer {
  userId: number
  groupIds: readonly number[]
  /** Lists are not filtered: administrators see all rows. */
  seesAll: boolean
}

/** For lists that the service itself needs. */
export const unrestrictedViewer: Viewer = { userId: 0, groupIds: [], seesAll: true }
