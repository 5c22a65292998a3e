import { oneOf, sizeOrNone, text, wanted } from "./parse.ts"
import { setting } from "./setting.ts"

/** Where Quayside keeps files and its database. */
export const storageSettings = {
  dataDir: setting({
    env: "DATA_DIR",
    default: "./data",
    initial: "./data",
    read: text,
    doc: "Database, files root (`files/`) and secrets. Made when missing, readable by its owner only.",
  }),
  filesDir: setting({
    env: "FILES_DIR",
    default: "`files/` in the data directory",
    initial: "",
    read: text,
    doc: "The files root: homes and datasets. On a disk of its own, what people store never takes the database's room. Made when missing; only root may be able to change the directories above it.",
  }),
  storageReserve: setting({
    env: "STORAGE_RESERVE",
    default: "1 GiB or 2 % of the disk, the larger, up to 64 GiB; a sixteenth of a disk below 16 GiB",
    initial: undefined as number | undefined,
    read: sizeOrNone,
    doc: "So much of the files root's disk is kept free: beyond it uploads are refused, and runs whose directories grow are ended, the one that grew most first.",
  }),
  databaseUrl: setting({
    env: "DATABASE_URL",
    default: "SQLite in the data directory",
    initial: "",
    read: (value) =>
      /^(postgres|postgresql):\/\//.test(value) || value.startsWith("sqlite:")
        ? value
        : wanted("an address that begins with postgres:// or sqlite:"),
    doc: "Where the database is: `postgres://…`, or `sqlite:<file>`.",
  }),
  databaseMoved: setting({
    env: "DATABASE_MOVED",
    default: "off",
    initial: "off" as "on" | "off",
    read: oneOf("on", "off"),
    doc: "`on` for the first start after the database was moved from another machine or server: the running containers are taken up. Without it such a database counts as a copy, which leaves them alone.",
  }),
} as const
