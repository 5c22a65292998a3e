import { readFile } from "node:fs/promises"
import type { Logger } from "#kit"

/** Programs that let nobody sign in; an empty one means a shell. */
const closed = /^(.*\/(nologin|false|sync|shutdown|halt))$/

/**
 * The names of the host's accounts of that uid with which somebody can sign in. Whoever does can
 * read and change every person's files, and what a program writes as its own belongs to them.
 */
export function loginAccounts(uid: number, passwd: string): string[] {
  const rows = passwd.split("\n").map((line) => line.split(":"))
  return rows.filter((row) => row.length >= 7 && row[2] === String(uid) && !closed.test(row[6] ?? "")).map(([name = ""]) => name)
}

/** Warns where the runs' uid is that of such an account. */
export async function warnAboutLoginAccount(uid: number, logger: Logger, file = "/etc/passwd"): Promise<void> {
  const accounts = loginAccounts(uid, await readFile(file, "utf8").catch(() => ""))
  if (accounts.length === 0) return
  logger.warn(
    { uid, accounts },
    "runs have the user ID of an account of this host, which can read and change all their files: give them one of their own by QUAYSIDE_RUN_UID",
  )
}
