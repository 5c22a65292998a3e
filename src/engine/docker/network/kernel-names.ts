import { createHash } from "node:crypto"

/**
 * Short names of an instance in the kernel, which limits device names to 15 characters and chain
 * names to 28.
 */
export interface KernelNames {
  /**
   * The prefix of every bridge's name. Three characters for the group whose setting applies and the
   * number of the subnet follow.
   */
  bridgePrefix: string
  /** The chains for connections to, through and from the host. */
  chains: { input: string; forward: string; output: string }
  /** The ID of the group that identifies Quayside's own process in the rules. */
  gid: number
}

/** Above the IDs that hosts, directory services and user namespaces assign. */
const firstGid = 3_500_000_000

export const chainPrefix = "QUAYSIDE-"

export function kernelNames(instance: string): KernelNames {
  const tag = digest(instance).slice(0, 7)
  const chain = (end: string) => `${chainPrefix}${tag}-${end}`
  const chains = { input: chain("IN"), forward: chain("FWD"), output: chain("OUT") }
  return { bridgePrefix: `qs${tag.slice(0, 6)}`, chains, gid: firstGid + Number.parseInt(tag, 16) }
}

/**
 * The prefix of the bridges where a group's own setting applies; without a group, of those with no
 * such setting.
 */
export function bridgePrefixOf({ bridgePrefix }: KernelNames, group = ""): string {
  return `${bridgePrefix}${group === "" ? noGroup : codeOf(group)}`
}

export function bridgeName(names: KernelNames, { group, number }: { group: string; number: number }): string {
  return `${bridgePrefixOf(names, group)}${number.toString(36)}`
}

/** Returns groups whose bridges would share a prefix; undefined in all but one of 46,000 pairs. */
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
