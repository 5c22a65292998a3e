import type { Migration } from "./migration.ts"

/**
 * Which port of the apps host belongs to whom, for ever: browsers keep caches and storage by port.
 * A port is one person's, and within that of one set of authors. `run_key` names the run that had
 * it last.
 */
export const runPorts: Migration = {
  version: 8,
  name: "run-ports",
  statements: () => [
    "create table run_ports (port $int not null, user_id $int not null references users, authors $text not null, project_id $int not null, run_key $text not null, is_handed_over $int not null, created_at $int not null, primary key (port)) $keyed",
    "create index run_ports_user on run_ports (user_id, port)",
  ],
}
