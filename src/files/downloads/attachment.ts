import { encodeName } from "../requests/address.ts"

/** A `Content-Disposition` that saves the response under this name. */
export function attachment(name: string): string {
  return `attachment; filename*=UTF-8''${encodeName(name)}`
}
