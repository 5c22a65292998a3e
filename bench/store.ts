/**
 * Compares the store with the same statements written by hand, in one process with alternating
 * slices; then lists over many rows.
 *
 *   node bench/store.ts [--rows 1000000] [--keep <directory>]
 *
 * Ratios are medians: 1.00 equals the handwritten statements. Times are in microseconds.
 */
import { existsSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { parseArgs } from "node:util"
import { unlimited } from "#contract"
import { silentLogger, systemClock } from "#kit"
import { type ImageRow, openStore, type Store, unrestrictedViewer, type Viewer } from "#store"
import { compare, report } from "./tools.ts"

const { values: options } = parseArgs({
  options: { rows: { type: "string", default: "1000000" }, keep: { type: "string" } },
})
const rows = Number(options.rows)
const users = 40
const groupCount = 40
const print = (line: string) => process.stdout.write(`${line}\n`)

const words = "train model data batch loss layer epoch kernel graph tensor notebook image volume mount dataset gradient".split(" ")
const text = (seed: number, length: number) =>
  Array.from({ length: Math.ceil(length / 8) }, (_, i) => words[(seed + i * 7) % words.length])
    .join(" ")
    .slice(0, length)
const person = (userName: string) => ({
  userName,
  passwordHash: null,
  email: "",
  comment: "",
  isAdmin: false,
  isDisabled: false,
  limits: unlimited,
})

function image(i: number, userId: number, docLength: number) {
  return {
    userId,
    name: `image ${i}`,
    image: `registry.example.com/team/image-${i}:1.0`,
    comment: text(i, 60),
    command: `serve --port {port} --seed ${i}`,
    env: `SEED=${i}\nMODE=train`,
    port: "8888",
    isPublished: i % 2 === 0,
    isTrusted: false,
    writablePaths: [],
    keepPresent: false,
    writtenBy: userId,
    doc: text(i * 3, docLength),
  }
}

function project(i: number, userId: number, groupId: number) {
  return {
    userId,
    groupId,
    imageId: 1,
    projectName: `project ${i}`,
    type: "jupyterlab" as const,
    comment: text(i, 60),
    doc: text(i, 60),
    isPublic: i % 2 === 0,
    isTrusted: false,
    writtenBy: userId,
    userPath: "",
    codePath: "",
    modelPath: "",
    startMinutes: 0,
    idleMinutes: 0,
    maxRunHours: 0,
  }
}

async function fill(store: Store): Promise<void> {
  if ((await store.users.count()) > 0) return
  const started = performance.now()
  await store.change(async (tx) => {
    for (let i = 0; i < users; i += 1) await tx.users.insert(person(`user${i}`))
    await tx.users.insert(person("lonely"))
    for (let i = 0; i < groupCount; i += 1)
      await tx.groups.insert({ groupName: `group${i}`, comment: "", limits: unlimited, totalLimits: unlimited })
    await tx.images.insert(image(0, 1, 60))
  })
  const batch = 2_000
  for (let from = 0; from < rows; from += batch) {
    await store.change(async (tx) => {
      for (let i = from; i < Math.min(rows, from + batch); i += 1) {
        await tx.projects.insert(project(i, 1 + (i % users), i % 3 === 0 ? 1 + (i % groupCount) : 0))
      }
    })
  }
  for (let from = 0; from < 20_000; from += batch) {
    await store.change(async (tx) => {
      for (let i = from; i < from + batch; i += 1) await tx.images.insert(image(i, 1 + (i % users), i % 2 ? 2_048 : 60))
    })
  }
  print(`filled with ${rows} projects and 20000 images in ${((performance.now() - started) / 1000).toFixed(0)} s`)
}

/** The statements of a minimal program. */
function byHand(file: string) {
  const db = new DatabaseSync(file, { readOnly: true })
  db.exec("pragma cache_size = -65536")
  const columns =
    "id, created_at, updated_at, deleted_at, version, name, image, comment, command, env, port, user_id, is_published, is_trusted, doc"
  const arrays = (sql: string) => {
    const statement = db.prepare(sql)
    statement.setReturnArrays(true)
    return statement
  }
  const toObject = (r: unknown[]) => ({
    id: r[0],
    createdAt: r[1],
    updatedAt: r[2],
    deletedAt: r[3],
    version: r[4],
    name: r[5],
    image: r[6],
    comment: r[7],
    command: r[8],
    env: r[9],
    port: r[10],
    userId: r[11],
    isPublished: r[12] === 1,
    isTrusted: r[13] === 1,
    doc: r[14],
  })
  const one = arrays(`select ${columns} from images where id = ? and deleted_at is null`)
  const page = arrays(`select ${columns} from images where deleted_at is null order by id desc limit ? offset ?`)
  const total = arrays("select n from counters where key = ? and block = -1")
  return {
    get: (id: number) => toObject(one.get(id) as unknown as unknown[]),
    list: (offset: number) => ({
      total:
        Number((total.get("images public") as unknown as unknown[])[0]) + Number((total.get("images private") as unknown as unknown[])[0]),
      rows: (page.all(20, offset) as unknown as unknown[][]).map(toObject),
    }),
    close: () => db.close(),
  }
}

/** Inserts as many rows at a time as a busy server would. */
async function inserts(store: Store, file: string): Promise<void> {
  const db = new DatabaseSync(`${file}.hand`)
  db.exec(
    "pragma page_size = 8192; pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -65536; create table if not exists images (id integer primary key, created_at, updated_at, deleted_at, name, image, comment, command, env, port, user_name, is_published, doc); create index if not exists by_user on images (user_name, id) where deleted_at is null; create index if not exists live on images (id) where deleted_at is null; create index if not exists published on images (id) where is_published = 1 and deleted_at is null",
  )
  const insert = db.prepare(
    "insert into images (created_at, updated_at, name, image, comment, command, env, port, user_name, is_published, doc) values (?,?,?,?,?,?,?,?,?,?,?) returning *",
  )
  insert.setReturnArrays(true)
  const entry = (row: ImageRow) => ({ event: "image.created", data: { ID: row.id }, resource: { type: "image", id: row.id } })
  const audit = (row: ImageRow) => ({
    actor: "user1",
    action: "image.create",
    resource: { type: "image", id: row.id },
    outcome: "done" as const,
    address: "127.0.0.1",
    requestId: "0123456789abcdef",
  })
  const batch = <T>(work: (i: number) => Promise<T>) => Promise.all(Array.from({ length: 64 }, (_, i) => work(i)))
  const times = await compare(
    {
      "by hand": (n) => {
        db.exec("begin")
        for (let i = 0; i < 64; i += 1) {
          const row = image(n * 64 + i, 1, 60)
          insert.get(
            Date.now(),
            Date.now(),
            row.name,
            row.image,
            row.comment,
            row.command,
            row.env,
            row.port,
            "user1",
            row.isPublished ? 1 : 0,
            row.doc,
          )
        }
        db.exec("commit")
      },
      "row alone": (n) => batch((i) => store.change((tx) => tx.images.insert(image(n * 64 + i, 1, 60)))),
      "with audit and event": (n) =>
        batch((i) =>
          store.change(async (tx) => {
            const row = await tx.images.insert(image(n * 64 + i, 1, 60))
            await tx.journal(entry(row))
            await tx.audit(audit(row))
            return row
          }),
        ),
    },
    20,
  )
  report("64 durable inserts at a time", times)
  db.close()
}

async function lists(store: Store): Promise<void> {
  const lonely = (await store.users.byName("lonely"))?.id ?? 0
  if ((await store.projects.list({ where: { userId: lonely } }, unrestrictedViewer, { page: 1, pageSize: 1 })).total === 0) {
    await store.change(async (tx) => {
      for (let i = 0; i < 5; i += 1) await tx.projects.insert({ ...project(i, lonely, 0), isPublic: false })
    })
  }
  const groupIds = Array.from({ length: 10 }, (_, i) => 1 + i * 3)
  const viewers: Record<string, [Viewer, Parameters<Store["projects"]["list"]>[0]]> = {
    administrator: [unrestrictedViewer, {}],
    "person who sees the public": [{ userId: 3, groupIds: [], seesAll: false }, {}],
    "person with 10 groups": [{ userId: 3, groupIds, seesAll: false }, {}],
    "same, private only": [{ userId: 3, groupIds, seesAll: false }, { where: { isPublic: false } }],
    "person who has 5, private only": [{ userId: lonely, groupIds: [], seesAll: false }, { where: { isPublic: false } }],
    "by owner": [unrestrictedViewer, { where: { userName: "user7" } }],
    search: [unrestrictedViewer, { words: ["kernel", "99"] }],
    "sorted by name": [unrestrictedViewer, { sort: { by: "name", descending: false } }],
    "sorted by time, person": [{ userId: 3, groupIds, seesAll: false }, { sort: { by: "updatedAt", descending: true } }],
  }
  for (const [name, [viewer, filter]] of Object.entries(viewers)) {
    const { total } = await store.projects.list(filter, viewer, { page: 1, pageSize: 20 })
    const pages = Math.ceil(total / 20)
    const get = (page: number) => store.projects.list(filter, viewer, { page, pageSize: 20 })
    const times = await compare(
      { first: () => get(1), last: () => get(pages), middle: () => get(Math.ceil(pages / 2)), any: (i) => get(1 + ((i * 7919) % pages)) },
      filter.words || filter.sort ? 2 : 20,
    )
    report(`${name}, ${total}`, times)
  }
}

const directory = options.keep ?? (await mkdtemp(join(tmpdir(), "quayside-bench-")))
const file = join(directory, "bench.db")
const fresh = !existsSync(file)
{
  await using store = await openStore({ url: `sqlite:${file}`, logger: silentLogger, clock: systemClock })
  await fill(store)
  const hand = byHand(file)
  const ids = (i: number) => 1 + ((i * 7919) % 20_000)
  report("image by ID", await compare({ "by hand": (i) => hand.get(ids(i)), store: (i) => store.images.get(ids(i)) }, 2_000))
  report(
    "page of 20 images with total",
    await compare(
      { "by hand": () => hand.list(0), store: () => store.images.list({}, unrestrictedViewer, { page: 1, pageSize: 20 }) },
      200,
    ),
  )
  hand.close()
  await inserts(store, file)
  await lists(store)
}
if (options.keep === undefined) await rm(directory, { recursive: true })
else if (fresh) print(`kept in ${directory}`)
