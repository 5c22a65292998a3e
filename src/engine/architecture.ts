import { existsSync } from "node:fs"

/** Node's names of processors that differ from those of images. */
const imageNames: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386", ppc64: "ppc64le" }

/** This machine's kind of processor, as images name it. */
export const ownArchitecture = imageNames[process.arch] ?? process.arch

/** Whether an image is made for another kind of processor; false if it names none. */
export function isForeignArchitecture(architecture: string): boolean {
  return architecture !== "" && architecture !== ownArchitecture
}

/** The kind that this machine fetches of those that a registry offers; empty if it offers none. */
export function chooseArchitecture(offered: readonly string[]): string {
  const isOffered = (architecture: string) => offered.includes(architecture)
  return [ownArchitecture, ...(ownArchitecture === "amd64" ? ["386"] : [])].find(isOffered) ?? offered[0] ?? ""
}

/** Names of QEMU's emulators that differ from those of images. */
const emulatorNames: Readonly<Record<string, string>> = { arm64: "aarch64", amd64: "x86_64", "386": "i386" }

/** Whether this machine runs programs for a foreign kind of processor all the same. */
export function runsForeignPrograms(architecture: string): boolean {
  if (architecture === "386" && ownArchitecture === "amd64") return true
  return existsSync(`/proc/sys/fs/binfmt_misc/qemu-${emulatorNames[architecture] ?? architecture}`)
}

export function wrongArchitectureMessage(image: string, architecture: string): string {
  return `The image ${image} is made for ${architecture} processors; this machine has ${ownArchitecture}`
}

export function wrongArchitectureHint(): string {
  return `Build the image again with \`docker build --platform linux/${ownArchitecture}\`, or choose a tag for ${ownArchitecture}`
}
