import type { BodyShape, ParsedBody } from "./fields/body.ts"
import type { JsonSchema } from "./fields/field.ts"
import type { StructureValue } from "./fields/structure.ts"
import type { QueryValues } from "./query.ts"
import type { Done } from "./resources/installation.ts"
import type { endpoints, OperationId } from "./table.ts"

/** One page of a list. */
export interface List<T> {
  data: T[]
  page: number
  pageCount: number
  pageSize: number
}

type AnswerOf<A> = A extends { one: infer S }
  ? StructureValue<S>
  : A extends { list: infer S }
    ? List<StructureValue<S>>
    : A extends { oneOrList: infer S }
      ? StructureValue<S> | List<StructureValue<S>>
      : A extends { done: true }
        ? Done
        : A extends { lines: infer S }
          ? AsyncIterable<StructureValue<S>>
          : A extends { events: infer S }
            ? AsyncIterable<StructureValue<S>>
            : A extends { text: string }
              ? string
              : JsonSchema

/** The answer of an operation that succeeds. */
export type Answer<Op extends OperationId> = AnswerOf<(typeof endpoints)[Op]["answer"]>

/** The query's parameters of an operation: those that were given. */
export type QueryOf<Op extends OperationId> = QueryValues<(typeof endpoints)[Op]["query"]>

/**
 * The body of an operation: of a POST its values, defaults included; of a PUT its changes;
 * undefined if the operation has none.
 */
export type Body<Op extends OperationId> = (typeof endpoints)[Op] extends { body: infer B extends BodyShape } ? ParsedBody<B> : undefined
