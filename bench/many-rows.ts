import { createHash, randomBytes } from "node:crypto"
import { DatabaseSync } from "node:sqlite"
import { unlimited } from "#contract"
import { silentLogger, systemClock } from "#kit"
import { openStore } from "#store"

const owners = 40
const groups = 40

/** The people who send requests, and their tokens. */
export interface Eyes {
  name: string
  token: string
  userId: number
  groupIds: number[]
}

/**
 * A database with `rows` private projects of 40 people, every third in one of 40 groups. `lonely`
 * sees 5 of them, `member` is in 10 groups and has 50 grants, `root` is an administrator. One
 * statement inserts the rows; the database's triggers count them.
 */
export async function makeManyRows(file: string, rows: number): Promise<Record<"root" | "lonely" | "member", Eyes>> {
  await using store = await openStore({ url: `sqlite:${file}`, logger: silentLogger, clock: systemClock })
  const eyes = await store.change(async (tx) => {
    const person = async (userName: string, isAdmin = false) =>
      (await tx.users.insert({ userName, passwordHash: null, email: "", comment: "", isAdmin, isDisabled: false, limits: unlimited })).id
    for (let i = 0; i < owners; i += 1) await person(`user${i}`)
    for (let i = 0; i < groups; i += 1)
      await tx.groups.insert({ groupName: `group${i}`, comment: "", limits: unlimited, totalLimits: unlimited })
    const groupIds = Array.from({ length: 10 }, (_, i) => 1 + i * 3)
    const created = {
      root: { name: "root", token: newToken(), userId: await person("root", true), groupIds: [] },
      lonely: { name: "lonely", token: newToken(), userId: await person("lonely"), groupIds: [] },
      member: { name: "member", token: newToken(), userId: await person("member"), groupIds },
    }
    for (const id of groupIds) await tx.groups.setMembers(id, [created.member.userId])
    for (const { userId, token } of Object.values(created))
      await tx.tokens.insert({ userId, name: "bench", hash: hashOf(token), scopes: ["read", "write"], expiresAt: null })
    const image = {
      userId: 1,
      name: "image",
      image: "a/b",
      comment: "",
      command: "",
      env: "",
      port: "",
      isPublished: true,
      isTrusted: false,
      writablePaths: [],
      keepPresent: false,
      writtenBy: 1,
    }
    await tx.images.insert({ ...image, doc: "" })
    return created
  })
  fill(file, rows, eyes.lonely.userId)
  await store.change(async (tx) => {
    // Spread over the whole list; none belongs to a group.
    for (let i = 0; i < 50; i += 1) {
      const project = await tx.projects.get(1 + Math.floor((i * rows) / 150) * 3 + 1)
      if (!project) throw new Error("There is no such project")
      await tx.grants.put({
        resourceType: "project",
        resourceId: project.id,
        ownerId: project.userId,
        userId: eyes.member.userId,
        groupId: 0,
        access: "use",
        createdBy: eyes.root.userId,
        expiresAt: null,
      })
    }
  })
  return eyes
}

function fill(file: string, rows: number, lonely: number): void {
  using db = new DatabaseSync(file)
  db.exec("pragma synchronous = off; pragma cache_size = -400000; pragma temp_store = memory")
  db.exec(`insert into projects (created_at, updated_at, version, user_id, group_id, is_published, is_trusted, image_id, type, project_name, comment, user_path, code_path, model_path, name_fold, search, doc)
    with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < ${rows})
    select 1767225600000 + i, 1767225600000 + i, 1, case when i % ${Math.floor(rows / 5)} = 7 then ${lonely} else 1 + i % ${owners} end,
      case when i % 3 = 0 and i % ${Math.floor(rows / 5)} <> 7 then 1 + i % ${groups} else 0 end, 0, 0, 1, 'jupyterlab', 'project ' || i, 'train a model on data ' || i,
      '', '', '', 'project ' || i, 'project ' || i || char(10) || 'train a model on data ' || i, 'what it is for'
    from n`)
}

/** Creates `count` tokens of one person. */
export function makeTokens(file: string, userId: number, count: number): string[] {
  const tokens = Array.from({ length: count }, newToken)
  using db = new DatabaseSync(file)
  const insert = db.prepare(
    "insert into tokens (user_id, created_at, expires_at, last_used_at, hash, name, scopes) values (?, ?, null, null, ?, 'many', ?)",
  )
  db.exec("begin")
  for (const token of tokens) insert.run(userId, Date.now(), hashOf(token), JSON.stringify(["read", "write"]))
  db.exec("commit")
  return tokens
}

function newToken(): string {
  return `qs_${randomBytes(32).toString("base64url")}`
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("hex")
}
