import type { Data } from "#contract"

/** The fields of a dataset that people write. */
export type DatasetDraft = Pick<Data, "Name" | "Comment" | "AccessInfo" | "Doc">

export const emptyDataset: DatasetDraft = { Name: "", Comment: "", AccessInfo: "", Doc: "" }

export function datasetDraftOf({ Name, Comment, AccessInfo, Doc }: Data): DatasetDraft {
  return { Name, Comment, AccessInfo, Doc }
}
