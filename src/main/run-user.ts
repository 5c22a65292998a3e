import { readFile } from "node:fs/promises"
import type { Logger } from "#kit"

/** Login programs that let nobody sign in. An empty field means a shell. */
const noLogin = /^(.*\/(nologin|false|sync|shutdown|halt))$/

/**
 * The names of the host's accounts with this uid that can sign in. Such an account can read and
 * change every person's files, and owns every file that a run writes.
 */
export function loginAccounts(uid: number, passwd: string): string[] {
  const rows = passwd.split("\n").map((line) => line.split(":"))
  return rows.filter((row) => row.length >= 7 && row[2] === String(uid) && !noLogin.test(row[6] ?? "")).map(([name = ""]) => name)
}

/** Logs a warning if the runs' uid belongs to such an account. */
export async function warnAboutLoginAccount(uid: number, logger: Logger, file = "/etc/passwd"): Promise<void> {
  const accounts = loginAccounts(uid, await readFile(file, "utf8").catch(() => ""))
  if (accounts.length === 0) return
  logger.warn(
    { uid, accounts },
    "runs have the user ID of an account of this host, which can read and change all their files: set QUAYSIDE_RUN_UID to an unused user ID",
  )
}
