import type { Dialect, Migration } from "./migration.ts"

/**
 * Leases, by which one of several processes does what only one may do, one-time proofs that any
 * of them accepted, and the announced end of idle runs, which every process tells. On PostgreSQL,
 * triggers tell all processes what one of them changed: `src/store/postgres/notices.ts` reads these
 * texts.
 */
export const rolesMigration: Migration = {
  version: 16,
  name: "roles",
  statements: (dialect: Dialect) => [
    "create table leases (name $text not null primary key, holder $text not null, address $text not null, token $int not null, beat $int not null) $keyed",
    "create table used_proofs (id $text not null primary key, ends_at $int not null) $keyed",
    "create index used_proofs_end on used_proofs (ends_at)",
    "alter table runs add column idle_ends_at $int",
    ...(dialect === "postgres" ? notices : []),
  ],
}

const notify = (name: string, text: string) =>
  `create function ${name}() returns trigger language plpgsql as $body$ begin perform pg_notify('quayside', ${text}); return null; end $body$`

/** A person may be the subject of an insertion, an update or a deletion. */
const person = "'person ' || (to_jsonb(case when tg_op = 'DELETE' then old else new end) ->> tg_argv[0])"

const notices = [
  notify("notify_journal", "'journal'"),
  notify("notify_run", "'run ' || new.id || ' ' || new.version"),
  notify("notify_person", person),
  notify("notify_people", "'people'"),
  "create trigger notice after insert on journal for each statement execute function notify_journal()",
  "create trigger notice after insert or update on runs for each row execute function notify_run()",
  "create trigger notice after update on users for each row execute function notify_person('id')",
  "create trigger notice after delete on sessions for each row execute function notify_person('user_id')",
  "create trigger notice after delete on tokens for each row execute function notify_person('user_id')",
  "create trigger notice after insert or delete on group_members for each row execute function notify_person('user_id')",
  "create trigger notice after update on groups for each statement execute function notify_people()",
]
