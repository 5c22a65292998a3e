import { choicesOf, parseListenPort, throwExpected } from "./parse.ts"
import { setting } from "./setting.ts"

/** The parts of Quayside that a process can have. */
export const roleNames = ["api", "supervisor", "gateway", "files"] as const
export type Role = (typeof roleNames)[number]

/** Several processes with one database. */
export const processesSettings = {
  only: setting({
    env: "ONLY",
    default: "api, supervisor, gateway, files",
    initial: roleNames as readonly Role[],
    read: choicesOf(...roleNames),
    doc: "The roles of this process, separated by commas. With PostgreSQL, each role can have processes of its own, as many as you like (docs/how-to/processes.md).",
  }),
  secret: setting({
    env: "SECRET",
    default: "random keys in the data directory",
    initial: "",
    read: (value) => (value.length >= 32 ? value : throwExpected("a random text of 32 characters or more")),
    doc: "The secret from which the keys of sessions and tickets are made. Processes that do not share the data directory have the same one.",
  }),
  healthPort: setting({
    env: "HEALTH_PORT",
    default: "none",
    initial: undefined as number | undefined,
    read: parseListenPort as (value: string) => number | undefined,
    doc: "A port for `/healthz` and `/readyz` of a process without the role `api`, which has them at the base URL.",
  }),
} as const
