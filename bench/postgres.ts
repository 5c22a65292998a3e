// Compares the store on PostgreSQL with `pg` and handwritten statements, 64 requests at a time, in
// the named empty database. Rates: needed ≥ 0.7, aim 0.85.
//   node bench/postgres.ts postgres://…

import pg from "pg"
import { unlimited } from "#contract"
import { silentLogger, systemClock } from "#kit"
import { openStore, unrestrictedViewer } from "#store"
import { compare, report } from "./tools.ts"

const rows = 20_000

const [url] = process.argv.slice(2)
if (url === undefined) {
  process.stdout.write("This needs the URL of an empty PostgreSQL database: node bench/postgres.ts postgres://…\n")
  process.exit(0)
}
await using store = await openStore({ url, logger: silentLogger, clock: systemClock })
const ann = { userName: "ann", passwordHash: null, email: "", comment: "", isAdmin: false, isDisabled: false, limits: unlimited }
await store.change((tx) => tx.users.insert(ann))
const types = { getTypeParser: (oid: number, format?: "text") => (oid === 20 ? Number : pg.types.getTypeParser(oid, format)) }
const pool = new pg.Pool({ connectionString: url, max: 10, options: "-c jit=off", types: types as pg.CustomTypesConfig })
await pool.query(`insert into images (created_at, updated_at, version, user_id, is_published, is_trusted, name, image, comment, command, env, port, name_fold, search, doc)
  select 1767225600000 + i, 1767225600000 + i, 1, 1, i % 2, 0, 'image ' || i, 'registry.example.com/team/image-' || i, 'train a model', 'serve --port {port}', 'MODE=train', '8888',
    'image ' || i, 'image ' || i, repeat('what it is for ', case when i % 2 = 0 then 4 else 130 end) from generate_series(1, ${rows}) as i`)
// The server does this itself some time after so many inserts.
await pool.query("analyze")

const text = (name: string, most: number) => `case when octet_length(${name}) <= ${most} then ${name} end as ${name}`
const stamps = "id, created_at, updated_at, deleted_at, version"
const statements = {
  get: `select ${stamps}, name, image, comment, command, env, port, user_id, user_name, is_published, is_trusted, doc, written_by
    from images where id = $1`,
  total: "select cast(coalesce(sum(n), 0) as bigint) from counters where block = -1 and key in ($1, $2)",
  page: `select ${stamps}, name, image, comment, ${text("command", 4_096)}, ${text("env", 4_096)}, port, user_id, user_name,
    is_published, is_trusted, ${text("doc", 8_192)}, written_by,
    octet_length(comment) + octet_length(command) + octet_length(env) + octet_length(doc)
    from images where id in (select id from images where deleted_at is null order by id desc limit $1 offset $2) order by id desc`,
}

function request(name: keyof typeof statements, values: unknown[]): Promise<pg.QueryArrayResult> {
  return pool.query({ name, text: statements[name], values, rowMode: "array" })
}

const at64 = (work: (i: number) => Promise<unknown>) => (n: number) => Promise.all(Array.from({ length: 64 }, (_, i) => work(n * 64 + i)))
const id = (i: number) => 1 + ((i * 7_919) % rows)
report(
  "64 images by ID",
  await compare({ "by hand": at64((i) => request("get", [id(i)])), store: at64((i) => store.images.get(id(i))) }, 10),
)
const byHand = async () => {
  await request("total", ["images public", "images private"])
  return request("page", [20, 0])
}
const page = () => store.images.list({}, unrestrictedViewer, { page: 1, pageSize: 20 })
report("64 pages of 20 images with total", await compare({ "by hand": at64(byHand), store: at64(page) }, 4))
await pool.end()
