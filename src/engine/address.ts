export interface RunAddress {
  host: string
  port: number
  /**
   * Whether the run still has this address: another run may have received it already, before
   * `observe` shows that. Call it after connecting and before sending anything. Absent if the
   * engine cannot know.
   */
  isCurrent?: () => boolean
}

export interface ListeningPort {
  port: number
  /** Whether only programs of the same container reach it. */
  isLocal: boolean
}

/**
 * Networks outside the public internet, but for link-local ones. Source: the IANA special-purpose
 * address registries.
 */
export const privateNetworks = {
  ipv4: [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/4",
    "240.0.0.0/4",
  ],
  ipv6: ["::1/128", "64:ff9b:1::/48", "fc00::/7", "fe80::/10", "ff00::/8"],
}

/** Cloud metadata services use these addresses. No setting opens them. */
export const linkLocal = "169.254.0.0/16"
