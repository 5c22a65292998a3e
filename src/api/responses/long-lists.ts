import { bounds, type List } from "#contract"
import type { RowPage, RowPageRequest } from "#store"
import { LongList } from "../answer-forms.ts"
import { toListResponse } from "./lists.ts"
import type { SummaryResponses } from "./resources.ts"

const maxPlainBytes = bounds.texts.plainAnswerBytes.value

/** A page of a list. A small one is sent at once, a large one in slices. */
export interface ListPage<Row, A> {
  found: RowPage<Row>
  page: RowPageRequest
  draft: SummaryResponses<A>
  /**
   * The whole answers of those of these rows that still match and may still be seen, in any order.
   */
  read(ids: readonly number[]): Promise<(A & { ID: number })[]>
}

export async function toListResult<Row extends { id: number }, A extends object>(
  listing: ListPage<Row, A>,
): Promise<List<A> | LongList<A>> {
  const { found, page, draft, read } = listing
  const isSmall = draft.bytes.reduce((sum, bytes) => sum + bytes, 0) <= maxPlainBytes
  if (isSmall && !draft.isTruncated) return toListResponse(found, page, draft.responses)
  const ids = found.rows.map(({ id }) => id)
  if (isSmall) return toListResponse(found, page, await inOrder(ids, read))
  const { data: _none, ...rest } = toListResponse(found, page, [])
  const slices = slicesOf(ids, draft.bytes)
  return new LongList(rest, slices.length, async (at) => inOrder(slices[at] as number[], read))
}

async function inOrder<A>(ids: readonly number[], read: ListPage<unknown, A>["read"]): Promise<A[]> {
  const answers = new Map((await read(ids)).map((answer) => [answer.ID, answer]))
  return ids.map((id) => answers.get(id)).filter((answer) => answer !== undefined)
}

/** The IDs in order, in slices with few bytes of answers. A large row is a slice of its own. */
function slicesOf(ids: readonly number[], bytes: readonly number[]): number[][] {
  const slices: number[][] = []
  let room = 0
  ids.forEach((id, i) => {
    room -= bytes[i] ?? 0
    if (room < 0 || slices.length === 0) {
      slices.push([])
      room = bounds.texts.answerSliceBytes.value - (bytes[i] ?? 0)
    }
    slices.at(-1)?.push(id)
  })
  return slices
}
