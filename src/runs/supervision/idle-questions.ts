import { randomBytes } from "node:crypto"
import { Failure } from "#contract"
import type { Notice } from "#store"
import type { RunsContext } from "../context.ts"
import type { IdleRun } from "../limits/idle-rule.ts"
import type { SupervisorElection } from "./supervisor-election.ts"

const questionTopic = "idle-question"
const answerTopic = "idle-answer"
/** The process that supervises asks the programs of runs, which may take a while. */
const answeredWithinMs = 10_000
/** A message has at most 4,000 bytes. */
const runsPerMessage = 150
/** Further questions of other processes wait for none of these. */
const maxAnswersAtOnce = 8

interface Question {
  found: IdleRun[]
  resolve(found: IdleRun[]): void
  reject(error: unknown): void
}

/** Finds the idle runs of a process that supervises; undefined in any other one. */
export type FindIdle = (minutes: number) => Promise<IdleRun[]> | undefined

/**
 * Asks the process that supervises which runs are idle. A question goes to all processes, and that
 * one answers in parts: `<question> more|end <run>:<idle ms>,…`.
 */
export class IdleQuestions implements Disposable {
  readonly #ctx: RunsContext
  readonly #findHere: FindIdle
  readonly #check: SupervisorElection["check"]
  readonly #pending = new Map<string, Question>()
  readonly #listening: Disposable | undefined
  #answering = 0

  constructor(ctx: RunsContext, { findHere, check }: { findHere: FindIdle; check: SupervisorElection["check"] }) {
    this.#ctx = ctx
    this.#findHere = findHere
    this.#check = check
    this.#listening = ctx.store.notices?.on((notice) => this.#handle(notice))
  }

  /** Rejects with a `Failure` (503) if no process that supervises answers in time. */
  async find(minutes: number): Promise<IdleRun[]> {
    const found = this.#findHere(minutes)
    if (found) return found
    const supervision = await this.#check()
    if (supervision && !supervision.ok) throw unavailable(supervision.msg)
    return this.#ask(minutes)
  }

  #ask(minutes: number): Promise<IdleRun[]> {
    const { store } = this.#ctx
    const id = randomBytes(8).toString("hex")
    const { promise, resolve, reject } = Promise.withResolvers<IdleRun[]>()
    const timer = setTimeout(() => reject(unanswered()), answeredWithinMs)
    this.#pending.set(id, { found: [], resolve, reject })
    store.notices?.tell(questionTopic, `${id} ${minutes}`)
    return promise.finally(() => {
      clearTimeout(timer)
      this.#pending.delete(id)
    })
  }

  #handle(notice: Notice): void {
    if (notice.kind !== "message") return
    if (notice.topic === questionTopic) void this.#answer(notice.text)
    if (notice.topic === answerTopic) this.#take(notice.text)
  }

  async #answer(text: string): Promise<void> {
    const { store, logger } = this.#ctx
    const [id, minutes] = text.split(" ")
    const finding = this.#answering < maxAnswersAtOnce ? this.#findHere(Number(minutes)) : undefined
    if (!finding) return
    this.#answering += 1
    try {
      const found = (await finding).map(({ run, idleMs }) => `${run.id}:${Math.floor(idleMs)}`)
      for (let from = 0; from === 0 || from < found.length; from += runsPerMessage) {
        const part = found.slice(from, from + runsPerMessage)
        const last = from + runsPerMessage >= found.length ? "end" : "more"
        store.notices?.tell(answerTopic, `${id} ${last} ${part.join(",")}`)
      }
    } catch (err) {
      logger.warn({ err }, "another process was not told which runs are idle")
    } finally {
      this.#answering -= 1
    }
  }

  #take(text: string): void {
    const [id = "", last, part = ""] = text.split(" ")
    const question = this.#pending.get(id)
    if (!question) return
    for (const each of part.split(",").filter(Boolean)) {
      const [run, idleMs] = each.split(":").map(Number)
      const row = this.#ctx.runCache.row(run ?? 0)
      if (row) question.found.push({ run: row, idleMs: idleMs ?? 0 })
    }
    if (last === "end") question.resolve(question.found)
  }

  [Symbol.dispose](): void {
    this.#listening?.[Symbol.dispose]()
    for (const { reject } of this.#pending.values()) reject(unanswered())
  }
}

const unanswered = () => unavailable("The process that looks after the runs did not answer; try again")

const unavailable = (text: string) => new Failure("unavailable", text, { headers: { "Retry-After": "5" } })
