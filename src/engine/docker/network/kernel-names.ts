import { createHash } from "node:crypto"

/**
 * Short names of an instance in the kernel, where names of devices have 15 characters and names of
 * chains 28.
 */
export interface KernelNames {
  /**
   * Of every bridge of the instance. What follows is three characters for the group whose setting
   * counts on it, and the number of its subnet.
   */
  bridgePrefix: string
  /** Which connections to the host, through it, and from it are looked at. */
  chains: { input: string; forward: string; output: string }
  /** Of the group by which the rules know Quayside's own process. */
  gid: number
}

/** Above what hosts, directories of people and user namespaces hand out. */
const firstGid = 3_500_000_000

export const chainPrefix = "QUAYSIDE-"

export function kernelNames(instance: string): KernelNames {
  const tag = digest(instance).slice(0, 7)
  const chain = (end: string) => `${chainPrefix}${tag}-${end}`
  const chains = { input: chain("IN"), forward: chain("FWD"), output: chain("OUT") }
  return { bridgePrefix: `qs${tag.slice(0, 6)}`, chains, gid: firstGid + Number.parseInt(tag, 16) }
}

/**
 * What the names of the bridges begin with on which a group's own setting counts; without a group,
 * those where none does.
 */
export function bridgePrefixOf({ bridgePrefix }: KernelNames, group = ""): string {
  return `${bridgePrefix}${group === "" ? noGroup : codeOf(group)}`
}

export function bridgeName(names: KernelNames, { group, number }: { group: string; number: number }): string {
  return `${bridgePrefixOf(names, group)}${number.toString(36)}`
}

/**
 * Two groups whose bridges could not be told apart by their names; undefined in all but one of
 * 46,000 pairs.
 */
export function findCollidingGroups(groups: readonly string[]): string[] | undefined {
  const first = groups.find((group, n) => groups.slice(0, n).some((other) => codeOf(other) === codeOf(group)))
  return first === undefined ? undefined : groups.filter((group) => codeOf(group) === codeOf(first))
}

const noGroup = "000"

function codeOf(group: string): string {
  const number = Number.parseInt(digest(group).slice(0, 10), 16) % 36 ** 3
  return (number || 1).toString(36).padStart(3, "0")
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex")
}
