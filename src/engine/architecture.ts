/** Node's names of processors that differ from those of images. */
const imageNames: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386", ppc64: "ppc64le" }

/** This machine's kind of processor, as images name it. */
export const ownArchitecture = imageNames[process.arch] ?? process.arch

/** Whether an image is made for another kind of processor; false if it names none. */
export function isForeignArchitecture(architecture: string): boolean {
  return architecture !== "" && architecture !== ownArchitecture
}
