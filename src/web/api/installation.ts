/** Facts of this installation that its page carries. */
export interface Installation {
  version: string
  /** The unit of all amounts of memory. */
  memoryUnit: "MiB" | "GiB" | "bytes"
  /** The OpenID provider to sign in with, if there is one. */
  openId: { name: string; href: string } | null
}

const fallback: Installation = { version: "", memoryUnit: "MiB", openId: null }

export const installation: Installation = read()

function read(): Installation {
  const text = globalThis.document?.querySelector("meta[name=quayside]")?.getAttribute("content")
  return text ? (JSON.parse(text) as Installation) : fallback
}
