/** A planted cookie may come before the real one, so several of one name are read. */
const maxValues = 16

/** The values of every cookie of this name, in the order sent, at most 16. */
export function cookieValues(header: string | undefined, name: string): string[] {
  if (header === undefined || !header.includes(name)) return []
  const values: string[] = []
  for (const pair of header.split(";")) {
    const text = pair.trim()
    if (text.startsWith(`${name}=`) && values.push(text.slice(name.length + 1)) === maxValues) break
  }
  return values
}

/** The cookie's value; undefined if two have this name, since one of them was planted. */
export function uniqueCookie(header: string | undefined, name: string): string | undefined {
  const values = cookieValues(header, name)
  return values.length === 1 ? values[0] : undefined
}

export interface SetCookieOptions {
  /** Whether browsers reach the server by TLS only. */
  secure: boolean
  /** Default: until the browser ends. */
  maxAgeSeconds?: number
}

/** A `Set-Cookie` for this host, hidden from scripts. `Lax`: other origins send browsers here. */
export function setCookie(name: string, value: string, { secure, maxAgeSeconds }: SetCookieOptions): string {
  const age = maxAgeSeconds === undefined ? "" : `; Max-Age=${maxAgeSeconds}`
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax${age}${secure ? "; Secure" : ""}`
}
