import type { Grant } from "#contract"

/** An object that people share: one of these. */
export type ShareTarget = { ImageID: number } | { DataID: number } | { ProjectID: number } | { RunID: number }
export type ShareKind = "image" | "data" | "project" | "run"
export type Access = Grant["Access"]

export function kindOf(target: ShareTarget): ShareKind {
  if ("RunID" in target) return "run"
  return "ImageID" in target ? "image" : "DataID" in target ? "data" : "project"
}

/** The rights that differ on such an object; those of datasets are about files. */
export function accessesOf(kind: ShareKind): readonly Access[] {
  return kind === "data" ? ["read", "write"] : ["read", "use", "write"]
}

/** The end of a day where the reader is, for the API; undefined: no end. */
export function endOfDay(day: string): string | undefined {
  const match = /^(\d{4,6})-(\d\d)-(\d\d)$/.exec(day)
  if (!match) return undefined
  const end = new Date(Number(match[1]), Number(match[2]) - 1, Number(match[3]) + 1)
  return Number.isNaN(end.getTime()) ? undefined : end.toISOString()
}
