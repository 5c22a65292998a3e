import type { IncomingMessage } from "node:http"
import { bounds, Failure } from "#contract"
import { readBody } from "#http"
import { invalid } from "../failures.ts"
import { type FileQuery, parseFileQuery } from "../requests/query.ts"

/** A download that a page's form asks for. */
export interface DownloadForm {
  authorization: string
  query: FileQuery | undefined
}

const formType = /^application\/x-www-form-urlencoded\s*(;|$)/i

export function isDownloadForm({ method, headers }: IncomingMessage): boolean {
  return method === "POST" && headers["tus-resumable"] === undefined && formType.test(headers["content-type"] ?? "")
}

/**
 * Reads a form with `token`, and the fields of a query. A browser saves its answer like any
 * download, but sends no `Authorization`. A form keeps the token out of addresses, which browsers
 * and proxies store. Only a files token is accepted: it is short-lived and opens nothing else.
 */
export async function readDownloadForm(incoming: IncomingMessage): Promise<DownloadForm> {
  const body = await readBody(incoming, { maxBytes: bounds.files.formBytes.value, timeoutMs: bounds.http.anonymousBodyMs.value })
  const fields = new URLSearchParams(body.toString())
  const [token = "", ...others] = fields.getAll("token")
  if (others.length > 0) throw invalid("The field token must stand once; it stands twice")
  if (!token.startsWith("qf_")) throw new Failure("unauthorized", "The field token must hold a files token (POST /files-token)")
  fields.delete("token")
  const query = fields.size === 0 ? undefined : parseFileQuery(fields)
  if (query && query.kind !== "archive") throw invalid("A form downloads a file, or a directory with archive=zip")
  return { authorization: `Bearer ${token}`, query }
}
