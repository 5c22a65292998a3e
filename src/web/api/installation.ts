import type { Whoami } from "#contract"

/** Facts of this installation that its page carries. */
export interface Installation {
  version: string
  /** The unit of all amounts of memory. */
  memoryUnit: "MiB" | "GiB" | "bytes"
  /** The address at which people open Quayside. Only its pages may use files. */
  baseUrl: string
  filesUrl: string
  /** Whether this page was opened there. */
  isBaseOrigin: boolean
  /** The OpenID provider to sign in with, if there is one. */
  openId: { name: string; href: string } | null
  /** The person, and the last event before they were read; null on the sign-in page. */
  signedIn: { person: Whoami; lastEvent: string } | null
}

const fallback: Installation = {
  version: "",
  memoryUnit: "MiB",
  baseUrl: "",
  filesUrl: "",
  isBaseOrigin: true,
  openId: null,
  signedIn: null,
}

export const installation: Installation = read()

function read(): Installation {
  const text = globalThis.document?.querySelector("meta[name=quayside]")?.getAttribute("content")
  if (!text) return fallback
  const facts = JSON.parse(text) as Omit<Installation, "isBaseOrigin">
  return { ...facts, isBaseOrigin: new URL(facts.baseUrl).origin === location.origin }
}
