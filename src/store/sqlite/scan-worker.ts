import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads"
import { Failure } from "#contract"
import type { QueryRunner } from "../driver.ts"
import type { Query } from "../queries/query.ts"
import type { QueryCompiler } from "../queries/query-compiler.ts"
import type { ColumnValue, QueryArgument } from "../values.ts"
import { failureOf } from "./errors.ts"
import { toSqliteValue } from "./query-runner.ts"

/** The maximum of pending queries; further ones are rejected. */
const maxWaiting = 100
/** An idle thread ends after this time, to release its memory. */
const idleMs = 30_000

interface Request {
  id: number
  sql: string
  values: SQLInputValue[]
}
type Answer = { id: number; rows: ColumnValue[][] } | { id: number; error: { message: string; errcode: number | undefined } }

interface Waiting {
  resolve(rows: ColumnValue[][]): void
  reject(error: unknown): void
}

/**
 * Runs reads of very many rows in a thread, since SQLite blocks its caller. The first such read
 * starts the thread.
 */
export class ScanWorker implements QueryRunner, AsyncDisposable {
  readonly #file: string
  readonly #compiler: QueryCompiler
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #last = 0
  #timer: NodeJS.Timeout | undefined

  constructor(file: string, compiler: QueryCompiler) {
    this.#file = file
    this.#compiler = compiler
  }

  async all<A extends object>(query: Query<A>, args: A): Promise<ColumnValue[][]> {
    const { sql, parameters } = this.#compiler.compile(query)
    const values = parameters.map((name) => toSqliteValue(name, (args as Record<string, QueryArgument | undefined>)[name]))
    if (this.#waiting.size >= maxWaiting) throw new Failure("unavailable", "Too many searches wait already; try again later")
    this.#last += 1
    const { promise, resolve, reject } = Promise.withResolvers<ColumnValue[][]>()
    this.#waiting.set(this.#last, { resolve, reject })
    clearTimeout(this.#timer)
    this.#worker ??= this.#start()
    this.#worker.ref()
    this.#worker.postMessage({ id: this.#last, sql, values } satisfies Request)
    return promise
  }

  async first<A extends object>(query: Query<A>, args: A): Promise<ColumnValue[] | undefined> {
    return (await this.all(query, args))[0]
  }

  run(): Promise<number> {
    return Promise.reject(new Error("The scanner only reads"))
  }

  #start(): Worker {
    const worker = new Worker(import.meta.filename, { workerData: { scan: this.#file }, execArgv: [] })
    worker.on("message", (answer: Answer) => this.#take(answer))
    worker.on("error", (error) => this.#fail(worker, error))
    worker.on("exit", () => this.#fail(worker, new Error("The scanner ended")))
    return worker
  }

  #take(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if ("rows" in answer) waiting?.resolve(answer.rows)
    else waiting?.reject(failureOf(Object.assign(new Error(answer.error.message), { errcode: answer.error.errcode })))
    if (this.#waiting.size > 0) return
    this.#worker?.unref()
    this.#timer = setTimeout(() => this.#endIdleWorker(), idleMs)
    this.#timer.unref()
  }

  /** A query that comes before the thread has ended starts another one. */
  #endIdleWorker(): void {
    const worker = this.#worker
    this.#worker = undefined
    void worker?.terminate()
  }

  #fail(worker: Worker, error: unknown): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    for (const { reject } of this.#waiting.values()) reject(new Failure("unavailable", "The search was broken off", { cause: error }))
    this.#waiting.clear()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer)
    await this.#worker?.terminate()
  }
}

/** Runs in the thread. */
function serve(file: string): void {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 1_000 })
  db.exec("pragma cache_size = -8192; pragma temp_store = memory; pragma query_only = on;")
  parentPort?.on("message", ({ id, sql, values }: Request) => {
    try {
      const statement = db.prepare(sql)
      statement.setReturnArrays(true)
      parentPort?.postMessage({ id, rows: statement.all(...values) as unknown as ColumnValue[][] } satisfies Answer)
    } catch (error) {
      const { message, errcode } = error as Error & { errcode?: number }
      parentPort?.postMessage({ id, error: { message, errcode } } satisfies Answer)
    }
  })
}

if (!isMainThread && typeof workerData?.scan === "string") serve(workerData.scan)
