import type { Migration } from "./migration.ts"

/**
 * The owner of each port of the apps host, for ever: browsers store caches and site data by port. A
 * port belongs to one person and to one set of authors. `run_key` names its last run.
 */
export const runPortsMigration: Migration = {
  version: 8,
  name: "run-ports",
  statements: () => [
    "create table run_ports (port $int not null, user_id $int not null references users, authors $text not null, project_id $int not null, run_key $text not null, is_handed_over $int not null, created_at $int not null, primary key (port)) $keyed",
    "create index run_ports_user on run_ports (user_id, port)",
  ],
}
