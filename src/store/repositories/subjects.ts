import { DuplicateError } from "../errors.ts"
import { query } from "../queries/query.ts"
import type { SubjectRow } from "../rows.ts"
import type { SubjectReads, SubjectWrites } from "../store.ts"
import { openidSubjectsTable, subjectUserMapper } from "../tables/credentials.ts"
import type { RepositoryContext } from "./resource.ts"

const q = {
  subject: query("subject"),
  subjectsOfUser: query("subjectsOfUser"),
  insertSubject: query("insertSubject"),
}

/** The subjects of people at OpenID providers. */
export class SubjectRepository implements SubjectReads, SubjectWrites {
  readonly #context: RepositoryContext

  constructor(context: RepositoryContext) {
    this.#context = context
  }

  async userOf(issuer: string, subject: string): Promise<number | undefined> {
    const values = await this.#context.runner.first(q.subject, { issuer, subject })
    return values && subjectUserMapper.toRow(values).userId
  }

  async ofUser(userId: number): Promise<SubjectRow[]> {
    return (await this.#context.runner.all(q.subjectsOfUser, { user_id: userId })).map(openidSubjectsTable.toRow)
  }

  async insert(row: Omit<SubjectRow, "createdAt">): Promise<void> {
    const { runner, clock } = this.#context
    const columns = openidSubjectsTable.toColumns({ ...row, createdAt: clock.now() })
    if ((await runner.run(q.insertSubject, columns)) === 0) throw new DuplicateError("openidSubject")
  }
}
