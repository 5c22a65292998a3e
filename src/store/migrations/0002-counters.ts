import type { Dialect, Migration } from "./migration.ts"

/**
 * IDs per block. Small enough to scan for one page, and large enough that a million rows are only
 * some hundred blocks.
 */
const block = 4096

/**
 * The classes in which a table's rows are counted: a key, made from the row's columns, and the
 * condition.
 */
interface Counted {
  table: string
  /** The columns that decide; an update that changes none of them counts nothing. */
  watched: readonly string[]
  classes: readonly { key: string; when: string }[]
}

const live = "$.deleted_at is null"
const shown = (name: string): Counted["classes"] => [
  { key: `'${name} public'`, when: `${live} and $.is_published = 1` },
  { key: `'${name} public ' || $.user_id`, when: `${live} and $.is_published = 1` },
  { key: `'${name} private'`, when: `${live} and $.is_published = 0` },
  { key: `'${name} private ' || $.user_id`, when: `${live} and $.is_published = 0` },
]
const ofGroup = `${live} and $.is_published = 0 and $.group_id <> 0`
const ended = "$.state in ('ended', 'failed')"

const counted: readonly Counted[] = [
  { table: "images", watched: ["deleted_at", "is_published", "user_id"], classes: shown("images") },
  { table: "datasets", watched: ["deleted_at", "is_published", "user_id"], classes: shown("datasets") },
  {
    table: "projects",
    watched: ["deleted_at", "is_published", "user_id", "group_id"],
    classes: [
      ...shown("projects"),
      { key: "'projects group ' || $.group_id", when: ofGroup },
      { key: "'projects group ' || $.group_id || ' ' || $.user_id", when: ofGroup },
    ],
  },
  {
    table: "runs",
    watched: ["state", "user_id", "owner_id"],
    classes: [
      { key: "'runs ended'", when: ended },
      { key: "'runs ended ' || $.user_id", when: ended },
      { key: "'runs owned ' || $.owner_id", when: `${ended} and $.owner_id <> $.user_id` },
    ],
  },
]

/** Block -1 contains the sum of all blocks of its key. */
const upsert = "on conflict (key, block) do update set n = counters.n + excluded.n"

/**
 * Counts the old or new row in all its classes by one statement: triggers run for every row that is
 * written.
 */
function count({ classes }: Counted, row: "new" | "old"): string {
  const keys = classes.map(({ key, when }) => `select ${key} as key where ${when}`.replaceAll("$", row)).join(" union all ")
  return `insert into counters (key, block, n) select key, block, ${row === "new" ? 1 : -1} from (${keys}) as keys, (select -1 as block union all select ${row}.id / ${block}) as blocks where true ${upsert}`
}

function triggers(table: Counted, dialect: Dialect): string[] {
  const { table: name, watched } = table
  const isDistinct = dialect === "sqlite" ? "is not" : "is distinct from"
  const changed = watched.map((column) => `new.${column} ${isDistinct} old.${column}`).join(" or ")
  const events = [
    { event: "insert", when: "", act: [count(table, "new")] },
    { event: "delete", when: "", act: [count(table, "old")] },
    { event: `update of ${watched.join(", ")}`, when: `when (${changed})`, act: [count(table, "old"), count(table, "new")] },
  ]
  return events.flatMap(({ event, when, act }) => {
    const trigger = `${name}_counted_${event.slice(0, 6)}`
    if (dialect === "sqlite") return [`create trigger ${trigger} after ${event} on ${name} ${when} begin ${act.join("; ")}; end`]
    return [
      `create function ${trigger}() returns trigger language plpgsql as $body$ begin ${act.join("; ")}; return null; end $body$`,
      `create trigger ${trigger} after ${event} on ${name} for each row ${when} execute function ${trigger}()`,
    ]
  })
}

/** Counts existing rows. */
function fill({ table, classes }: Counted): string[] {
  return classes.flatMap(({ key, when }) => {
    const select = (block: string) =>
      `insert into counters (key, block, n) select ${key}, ${block}, count(*) from ${table} where ${when} group by 1, 2`.replaceAll(
        "$.",
        "",
      )
    return [select("-1"), select(`id / ${block}`)]
  })
}

/**
 * Totals and pages of lists without a scan: rows are counted by visibility class, and by class and
 * block of IDs.
 */
export const countersMigration: Migration = {
  version: 2,
  name: "counters",
  statements: (dialect) => [
    `create table counters (key $text not null, block $int not null, n $int not null, primary key (key, block)) $keyed`,
    ...(dialect === "postgres" ? ["alter table counters set (fillfactor = 50)"] : []),
    ...counted.flatMap(fill),
    ...counted.flatMap((table) => triggers(table, dialect)),
    ...["images", "datasets", "projects"].flatMap((table) => [
      `create index ${table}_private on ${table} (id) where is_published = 0 and deleted_at is null`,
      `create index ${table}_deleted on ${table} (id) where deleted_at is not null`,
    ]),
    "create index runs_user_history on runs (user_id, id) where state in ('ended', 'failed')",
    "create index runs_owned_history on runs (owner_id, id) where state in ('ended', 'failed') and owner_id <> user_id",
  ],
}
