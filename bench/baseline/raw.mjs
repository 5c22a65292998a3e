// The baseline of the API benchmarks: node:http, node:sqlite with cached statements, arrays mapped
// to object literals, no framework, no proof of identity, no validation. POST is durable:
// synchronous=FULL, one transaction per request, or with GROUP=1 one per turn of the event loop.
// Environment: PORT, DB, LONG, SHORT (rows to load), DOC (length of Doc), TOTAL=count|counter and
// DEEP=offset|reverse (the ways to count and to reach the last page), INDEX=partial|plain.
import http from "node:http"
import { parse } from "node:querystring"
import { DatabaseSync } from "node:sqlite"
import { imageBody } from "./rows.mjs"

const { PORT, DB, LONG = "0", SHORT = "0", DOC, TOTAL = "count", DEEP = "offset", INDEX = "partial", GROUP } = process.env
const db = new DatabaseSync(DB)
db.exec(`pragma page_size=8192; pragma journal_mode=wal; pragma synchronous=full; pragma cache_size=-65536;
create table if not exists images (id integer primary key, created_at integer, updated_at integer, deleted_at integer, name text, image text, comment text,
  command text, env text, port text, user_name text, is_published integer, doc text);
create table if not exists counts (name text primary key, n integer) without rowid;`)
const insert = db.prepare(
  "insert into images (created_at,updated_at,name,image,comment,command,env,port,user_name,is_published,doc) values (?,?,?,?,?,?,?,?,?,?,?) returning id,created_at,updated_at,deleted_at,name,image,comment,command,env,port,user_name,is_published,doc",
)
insert.setReturnArrays(true)
const add = (b) => {
  const now = Date.now()
  return insert.get(now, now, b.Name, b.Image, b.Comment, b.Command, b.Env, b.Port, b.UserName, b.IsPublished ? 1 : 0, b.Doc)
}
if (db.prepare("select count(*) n from images").get().n === 0) {
  db.exec("begin")
  for (const [set, n] of [
    ["long", LONG],
    ["short", SHORT],
  ])
    for (let i = 0; i < Number(n); i += 1) add(imageBody(set, i, DOC && Number(DOC)))
  db.exec("commit")
  if (INDEX === "partial")
    db.exec(`create index by_user on images(user_name,id) where deleted_at is null; create index live on images(id) where deleted_at is null;
    create index published on images(id) where is_published=1 and deleted_at is null`)
  else
    db.exec(
      "create index by_user on images(user_name); create index by_published on images(is_published); create index by_deleted on images(deleted_at)",
    )
  if (TOTAL === "counter")
    db.exec(`insert into counts select 'u:'||user_name, count(*) from images group by user_name; insert into counts select 'p', count(*) from images where is_published=1;
    insert into counts select 'a', count(*) from images`)
  db.exec("analyze")
}
const date = (ms) => (ms === null ? null : new Date(ms).toISOString())
const object = (r) => ({
  ID: r[0],
  CreatedAt: date(r[1]),
  UpdatedAt: date(r[2]),
  DeletedAt: date(r[3]),
  Name: r[4],
  Image: r[5],
  Comment: r[6],
  Command: r[7],
  Env: r[8],
  Port: r[9],
  UserName: r[10],
  IsPublished: r[11] === 1,
  Doc: r[12],
})
const arrays = (sql) => {
  const s = db.prepare(sql)
  s.setReturnArrays(true)
  return s
}
const one = arrays("select * from images where id=? and deleted_at is null")
const lists = {}
for (const [key, where] of [
  ["u", "user_name=? and deleted_at is null"],
  ["p", "is_published=1 and deleted_at is null"],
  ["a", "deleted_at is null"],
]) {
  lists[key] = {
    page: arrays(`select * from images where ${where} order by id desc limit ? offset ?`),
    back: arrays(`select * from images where ${where} order by id limit ? offset ?`),
    count: arrays(`select count(*) from images where ${where}`),
  }
}
const counter = arrays("select n from counts where name=?")
function list(q) {
  const page = Number(q.page ?? 1),
    size = 20
  const key = q.UserName ? "u" : q.IsPublish ? "p" : "a"
  const args = key === "u" ? [q.UserName] : []
  const l = lists[key]
  const total = TOTAL === "counter" ? (counter.get(key === "u" ? `u:${q.UserName}` : key)?.[0] ?? 0) : l.count.get(...args)[0]
  const from = (page - 1) * size
  let rows
  if (DEEP === "reverse" && from > total / 2) {
    const n = Math.max(0, Math.min(size, total - from))
    rows = l.back.all(...args, n, total - from - n).reverse()
  } else rows = l.page.all(...args, size, from)
  return { data: rows.map(object), page, pageCount: Math.ceil(total / size), pageSize: size }
}
const group = []
function commit() {
  const members = group.splice(0)
  db.exec("begin")
  const rows = members.map(([body]) => add(body))
  db.exec("commit")
  for (const [i, [, send]] of members.entries()) send(200, object(rows[i]))
}
http
  .createServer((req, res) => {
    const send = (status, value) => {
      const text = JSON.stringify(value)
      res.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) }).end(text)
    }
    const at = req.url.indexOf("?"),
      path = at < 0 ? req.url : req.url.slice(0, at),
      q = at < 0 ? {} : parse(req.url.slice(at + 1))
    if (path === "/image" && req.method === "GET") {
      const row = one.get(Number(q.ID))
      return row ? send(200, object(row)) : send(404, { ok: false })
    }
    if (path === "/images") return send(200, list(q))
    if (path === "/image" && req.method === "POST") {
      const chunks = []
      req
        .on("data", (c) => chunks.push(c))
        .on("end", () => {
          const body = JSON.parse(Buffer.concat(chunks).toString())
          if (GROUP !== "1") return send(200, object(add(body)))
          if (group.push([body, send]) === 1) setImmediate(commit)
        })
      return
    }
    send(path === "/healthz" ? 200 : 404, {})
  })
  .listen(Number(PORT), "127.0.0.1")
