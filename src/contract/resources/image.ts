import { bounds } from "../bounds/index.ts"
import { type AnswerValues, invalidField } from "../fields/field.ts"
import { boolean, integer, nullableTimestamp, oneOf } from "../fields/scalars.ts"
import { custom, list } from "../fields/shapes.ts"
import { type StructureValue, structure, wholeOrId } from "../fields/structure.ts"
import { text } from "../fields/text.ts"
import { commandError } from "../formats/command.ts"
import { envError } from "../formats/env.ts"
import { portError } from "../formats/names.ts"
import { ociReferenceError } from "../formats/oci-reference.ts"
import { normalizePath, writablePathError } from "../formats/paths.ts"
import { projectTypes } from "../states.ts"
import { commentField, commonFields, docField, nameField, partDescription, userNameField } from "./common.ts"

const { writablePaths, writablePathsCharacters } = bounds.texts

/** ImageModel: a container image definition that a project runs. */
export const imageFields = {
  ...commonFields,
  Name: nameField("Display name."),
  Image: text({
    description: "Container image reference, such as `repo/name:tag` or `repo/name@sha256:…`.",
    write: "required",
    format: ociReferenceError,
  }),
  Comment: commentField,
  Command: text({
    description:
      "Arguments for the container: empty (the image's own, or the type's default), the text of a JSON array of strings, or one line split as a POSIX shell splits words. `{port}` and `{baseUrl}` are filled in.",
    max: bounds.texts.commandCharacters.value,
    format: commandError,
  }),
  Env: text({
    description: "Environment: lines of `KEY=VALUE`, or the text of a JSON object of strings.",
    max: bounds.texts.envCharacters.value,
    format: envError,
  }),
  Port: text({
    description: "The port that the service listens on inside the container: `8888` or `8888/tcp`; empty means the type's default.",
    max: 16,
    pattern: "^$|^[1-9][0-9]{0,4}(/tcp)?$",
    format: portError,
  }),
  UserName: userNameField,
  IsPublished: boolean({ description: "Whether every signed-in person may see and use it." }),
  IsTrusted: boolean({
    description:
      "Whether administrators trust it: only then do runs of people other than its owner mount their home. Set by administrators only; a change or publication by anybody else ends it.",
  }),
  WritablePaths: custom<string[]>({
    description:
      "Directories that runs may write to although they are not the runs' own in the image: each begins empty and counts as memory. `/` is the whole root file system, within `MaxDisk`. Set by administrators only; another `Image` from anybody else removes them.",
    write: "optional",
    initial: [],
    schema: { type: "array", items: { type: "string" } },
    bodySchema: { type: "array", items: { type: "string", pattern: "^/" }, maxItems: writablePaths.value },
    parse: parseWritablePaths,
  }),
  KeepPresent: boolean({
    description:
      "Whether the engine always has the image: it is fetched ahead, and again when its tag moves, and never pruned. Set by administrators only; another `Image` from anybody else ends it.",
  }),
  Doc: docField,
}

function parseWritablePaths(value: unknown, field: string): string[] {
  const isList = Array.isArray(value) && value.every((entry) => typeof entry === "string")
  if (!isList || value.length > writablePaths.value) throw invalidField(field, `a list of at most ${writablePaths.value} paths`, value)
  if (value.join("").length > writablePathsCharacters.value)
    throw invalidField(field, `paths of at most ${writablePathsCharacters.value} characters together`)
  for (const path of value) {
    const expected = writablePathError(path)
    if (expected !== undefined) throw invalidField(field, expected, path)
  }
  return [...new Set(value.map(normalizePath))]
}

export type Image = AnswerValues<typeof imageFields>
export const imageModel = structure("ImageModel", imageFields)

const { Doc: _doc, ...fieldsWithoutDoc } = imageFields
export const imageWithoutDoc = structure("ImageWithoutDoc", fieldsWithoutDoc)
/** An image inside a project. */
export const imagePart = wholeOrId("ImagePart", imageWithoutDoc, partDescription)
export type ImagePart = StructureValue<typeof imagePart>

const texts = (description: string) => list(text({}), description)

/**
 * The engine's state of an image. If `Present` is false, all but `Pulling`, `Architecture` and
 * `IsForeign` is empty.
 */
const imageCheckFields = {
  ID: integer({ description: "Of the image's definition." }),
  Image: text({ description: "The reference." }),
  Present: boolean({ description: "Whether the engine has it." }),
  Pulling: boolean({ description: "Whether it is being fetched for the caller." }),
  Digest: text({ description: "`sha256:…`, as a run's `ImageDigest`." }),
  RegistryDigest: text({ description: "As a run's `RegistryDigest`." }),
  Size: integer({ description: "Bytes, unpacked." }),
  Architecture: text({
    description:
      "The kind of processor that it is made for, such as `amd64`; empty if unknown. If it is not present, its registry is asked, at most once a minute.",
  }),
  IsForeign: boolean({
    description: "Whether that is another kind than this machine's. Unless the machine emulates it, starts fail with `wrong_architecture`.",
  }),
  User: text({ description: "The user that the image names. Runs have a user of their own." }),
  EntryPoint: texts("The image's entry point."),
  Command: texts("The image's own arguments."),
  WorkDir: text({ description: "The image's working directory." }),
  Ports: texts("Ports that the image exposes, such as `8888/tcp`."),
  Types: list(oneOf({ values: projectTypes }), "The types that it looks made for, by its ports and the names of its programs."),
}
export const imageCheck = structure("ImageCheck", imageCheckFields)
export type ImageCheck = StructureValue<typeof imageCheck>

/** An image on the engine's disk, whoever fetched or built it. */
export const storedImage = structure("StoredImage", {
  Digest: text({ description: "`sha256:…`, as a run's `ImageDigest`." }),
  Images: texts("Its names; none if they moved to other images."),
  Size: integer({ description: "Bytes, unpacked. Images may share a part of it." }),
  PulledAt: nullableTimestamp({ description: "When Quayside fetched it last; null: it did not." }),
  UsedAt: nullableTimestamp({ description: "When a run used it last, or when it was fetched; null: Quayside did not fetch it." }),
  WouldPrune: boolean({ description: "Whether pruning by these rules would remove it." }),
  Why: text({ description: "Why it would stay or go." }),
})
export type StoredImageAnswer = StructureValue<typeof storedImage>
