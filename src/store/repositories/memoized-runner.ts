import type { QueryRunner } from "../driver.ts"
import type { Query } from "../queries/query.ts"
import type { ColumnValue } from "../values.ts"

/** Asks each question once, and gives its answer to everybody who asks it again. Reads only. */
export class MemoizedRunner implements QueryRunner {
  readonly #runner: QueryRunner
  readonly #rows = new Map<string, Promise<ColumnValue[][]>>()

  constructor(runner: QueryRunner) {
    this.#runner = runner
  }

  async all<A extends object>(query: Query<A>, args: A): Promise<ColumnValue[][]> {
    const question = JSON.stringify([query.key, args])
    const asked = this.#rows.get(question) ?? this.#runner.all(query, args)
    this.#rows.set(question, asked)
    // Lists change the array that they receive.
    return [...(await asked)]
  }

  async first<A extends object>(query: Query<A>, args: A): Promise<ColumnValue[] | undefined> {
    return (await this.all(query, args))[0]
  }

  run(): never {
    throw new TypeError("Memoized reads cannot write")
  }
}
