import { choiceOf, integerBetween, parseBytesOrNone, parseText, throwExpected } from "./parse.ts"
import { setting } from "./setting.ts"

/** Directories and database. */
export const storageSettings = {
  dataDir: setting({
    env: "DATA_DIR",
    default: "./data",
    initial: "./data",
    read: parseText,
    doc: "Directory of the database, the files root (`files/`) and the secrets. Created if missing, readable by its owner only.",
  }),
  filesDir: setting({
    env: "FILES_DIR",
    default: "`files/` in the data directory",
    initial: "",
    read: parseText,
    doc: "The files root: homes and datasets. On a disk of its own, the files of people cannot fill the database's disk. Created if missing; only root may be able to change its parent directories.",
  }),
  storageReserve: setting({
    env: "STORAGE_RESERVE",
    default: "1 GiB or 2 % of the disk, the larger, up to 64 GiB; a sixteenth of a disk below 16 GiB",
    initial: undefined as number | undefined,
    read: parseBytesOrNone,
    doc: "Disk space that stays free below the files root. When less is free, uploads are rejected and runs whose directories grow are ended, fastest growing first.",
  }),
  storageProjects: setting({
    env: "STORAGE_PROJECTS",
    default: "1000000000",
    initial: 1_000_000_000 as number | undefined,
    read: (value) => (value === "off" ? undefined : integerBetween(1, 1_000_000_000)(value)),
    doc: "Where the files root is on ext4 or XFS with project quotas, the kernel enforces `MaxStorage`: the project of user 5 is this number + 5, and a billion IDs from it on belong to Quayside. Another number for each installation on one file system; `off`: files are only counted.",
  }),
  databaseUrl: setting({
    env: "DATABASE_URL",
    default: "SQLite in the data directory",
    initial: "",
    read: (value) =>
      /^(postgres|postgresql):\/\//.test(value) || value.startsWith("sqlite:")
        ? value
        : throwExpected("an address that begins with postgres:// or sqlite:"),
    doc: "Address of the database: `postgres://…`, or `sqlite:<file>`.",
  }),
  databaseMoved: setting({
    env: "DATABASE_MOVED",
    default: "off",
    initial: "off" as "on" | "off",
    read: choiceOf("on", "off"),
    doc: "`on` for the first start after the database was moved from another machine or server: Quayside adopts the running containers. Otherwise it treats such a database as a copy and leaves the containers alone.",
  }),
} as const
