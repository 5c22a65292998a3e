export type OperatingSystem = "windows" | "mac" | "linux" | "rclone" | "curl"

/** How one system mounts or copies. */
export interface MountingGuide {
  system: OperatingSystem
  command: string | undefined
}

interface MountFacts {
  address: string
  userName: string
  /** The browser's name of itself. */
  agent: string
}

/** A guide for each system, the reader's own first. */
export function mountingGuides({ address, userName, agent }: MountFacts): MountingGuide[] {
  const quoted = shellQuote(address)
  const user = shellQuote(userName)
  const commands: Record<OperatingSystem, string | undefined> = {
    windows: `net use * ${JSON.stringify(address.replace(/\/$/, ""))} /user:${userName} *`,
    mac: undefined,
    linux: `sudo mount -t davfs -o username=${user} ${quoted} /mnt`,
    rclone: [
      "read -rsp 'Password: ' PASSWORD",
      `rclone config create quayside webdav url ${quoted} vendor owncloud user ${user} pass "$PASSWORD"`,
      "rclone copy ./folder quayside:folder --progress --transfers 8",
      "rclone mount quayside: ./mounted --vfs-cache-mode writes",
    ].join("\n"),
    curl: [`curl -u ${user} -T file.txt ${quoted}`, `curl -u ${user} -O ${shellQuote(`${address}file.txt`)}`].join("\n"),
  }
  const own = systemOf(agent)
  const systems: OperatingSystem[] = [own, ...(["windows", "mac", "linux"] as const).filter((system) => system !== own), "rclone", "curl"]
  return systems.map((system) => ({ system, command: commands[system] }))
}

function systemOf(agent: string): "windows" | "mac" | "linux" {
  if (/windows/i.test(agent)) return "windows"
  return /mac|iphone|ipad/i.test(agent) ? "mac" : "linux"
}

/** A word for a POSIX shell. */
function shellQuote(text: string): string {
  return /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
