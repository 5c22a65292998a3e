import { Duplicate } from "../errors.ts"
import { query } from "../queries/query.ts"
import type { SubjectRow } from "../rows.ts"
import type { SubjectReads, SubjectWrites } from "../store.ts"
import type { Context } from "./resource.ts"

const q = {
  subject: query("subject"),
  subjectsOfUser: query("subjectsOfUser"),
  insertSubject: query("insertSubject"),
}

/** People as OpenID providers know them. */
export class Subjects implements SubjectReads, SubjectWrites {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  async userOf(issuer: string, subject: string): Promise<number | undefined> {
    return (await this.#context.session.first(q.subject, { issuer, subject }))?.[0] as number | undefined
  }

  async ofUser(userId: number): Promise<SubjectRow[]> {
    const rows = await this.#context.session.all(q.subjectsOfUser, { user_id: userId })
    return rows.map((v) => ({ issuer: v[0] as string, subject: v[1] as string, userId, createdAt: v[2] as number }))
  }

  async insert({ issuer, subject, userId }: Omit<SubjectRow, "createdAt">): Promise<void> {
    const { session, clock } = this.#context
    const columns = { issuer, subject, user_id: userId, created_at: clock.now() }
    if ((await session.run(q.insertSubject, columns)) === 0) throw new Duplicate("openidSubject")
  }
}
