import type { Image } from "#contract"

/** The fields of an image that people write. Writable paths are lines. */
export interface ImageDraft {
  Name: string
  Image: string
  Comment: string
  Command: string
  Env: string
  Port: string
  Doc: string
  IsTrusted: boolean
  KeepPresent: boolean
  WritablePaths: string
}

export const emptyImage: ImageDraft = {
  Name: "",
  Image: "",
  Comment: "",
  Command: "",
  Env: "",
  Port: "",
  Doc: "",
  IsTrusted: false,
  KeepPresent: false,
  WritablePaths: "",
}

export function imageDraftOf(image: Image): ImageDraft {
  const { Name, Image: reference, Comment, Command, Env, Port, Doc, IsTrusted, KeepPresent, WritablePaths } = image
  return { Name, Image: reference, Comment, Command, Env, Port, Doc, IsTrusted, KeepPresent, WritablePaths: WritablePaths.join("\n") }
}

/** The body of a PUT with these fields. */
export function imageBody({ WritablePaths, Image: reference, ...fields }: Partial<ImageDraft>): object {
  return {
    ...fields,
    ...(reference === undefined ? {} : { Image: reference.trim() }),
    ...(WritablePaths === undefined ? {} : { WritablePaths: linesOf(WritablePaths) }),
  }
}

/** The body of a POST: fields that only administrators may set are sent by them alone. */
export function newImageBody(draft: ImageDraft): object {
  const { IsTrusted, KeepPresent, WritablePaths, ...fields } = draft
  const paths = linesOf(WritablePaths)
  return imageBody({
    ...fields,
    ...(IsTrusted ? { IsTrusted } : {}),
    ...(KeepPresent ? { KeepPresent } : {}),
    ...(paths.length > 0 ? { WritablePaths } : {}),
  })
}

export function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
}
