import { bounds } from "../bounds/index.ts"
import { Failure } from "../failure.ts"
import { type AnswerValues, describeValue, invalidField, type JsonSchema, parseObject } from "../fields/field.ts"
import { boolean, integer, oneOf } from "../fields/scalars.ts"
import { custom, list, optional } from "../fields/shapes.ts"
import { refTo, type StructureValue, structure, structureField } from "../fields/structure.ts"
import { checkWellFormed, text } from "../fields/text.ts"
import { defaultMountPaths, mountPathError } from "../formats/paths.ts"
import { projectTypes } from "../states.ts"
import { commentField, commonFields, docField, nameField, pathPattern, userNameField } from "./common.ts"
import { dataPart } from "./data.ts"
import { type ImagePart, imagePart } from "./image.ts"

/** The most datasets that a project can have. */
const maxProjectDatasets = bounds.texts.projectDatasets.value

/** A dataset of a project and its mount path. */
export const projectTrainData = structure("ProjectTrainDataModel", {
  ProjectID: integer({ description: "The project's ID." }),
  Data: structureField(dataPart, "The dataset."),
  MountPath: text({ description: "Where it is mounted." }),
})
export type ProjectData = StructureValue<typeof projectTrainData>

/** One dataset of a project as a body names it, in any of its shapes. */
export interface ProjectDataInput {
  ID: number
  /** Undefined if the body does not name it. */
  MountPath: string | undefined
}

const id = integer({})
/** A reference to an object in a body. */
export const referenceSchema: JsonSchema = { type: "object", properties: { ID: id.schema }, required: ["ID"] }
const mountPath = text({
  // A new one is checked for control characters once it is known which are stored: these are
  // accepted back.
  characters: checkWellFormed,
  description: `Where it is mounted: absolute, distinct. Empty means \`${defaultMountPaths.data}\` and a name made from the dataset's.`,
  max: bounds.texts.pathCharacters.value,
  pattern: pathPattern,
  format: mountPathError,
})
const path = (what: string, initial: string) =>
  text({
    description: `Mount location of the ${what} directory: absolute, distinct. Empty means \`${initial}\`.`,
    max: bounds.texts.pathCharacters.value,
    pattern: pathPattern,
    format: mountPathError,
  })

/** ProjectModel: an image, datasets, mount locations and a type. */
export const projectFields = {
  ...commonFields,
  ProjectName: nameField("Project name."),
  UserName: userNameField,
  GroupName: text({
    description: "The group whose members may see and start it; empty: none. Only its members and administrators may name it.",
    max: 64,
  }),
  Type: oneOf({
    description: "The kind of program: decides default port, arguments, landing page and readiness check.",
    values: projectTypes,
    write: "required",
  }),
  Comment: commentField,
  Doc: docField,
  IsPublic: boolean({ description: "Whether every signed-in person may see and start it." }),
  IsTrusted: boolean({
    description:
      "Whether administrators trust it: only then do runs of people other than its owner mount their home. Set by administrators only; a change, release or publication by anybody else ends it.",
  }),
  Image: custom<number | undefined, ImagePart>({
    description: "The image; in a body only its `ID` counts.",
    write: "optional",
    schema: refTo(imagePart),
    bodySchema: referenceSchema,
    parse: (value, field) => reference(value, field),
  }),
  ImageID: integer({ description: "The image's ID. A body may name the image here or in `Image`." }),
  TrainData: custom<ProjectDataInput[], ProjectData[]>({
    description: `The datasets, at most ${maxProjectDatasets}. A body's items may be \`{ID}\`, \`{ID, MountPath}\` or \`{Data: {ID}, MountPath}\`; without a path a dataset is mounted at \`${defaultMountPaths.data}\` and a name made from its own.`,
    write: "optional",
    initial: [],
    schema: { type: "array", items: refTo(projectTrainData) },
    bodySchema: {
      type: "array",
      maxItems: maxProjectDatasets,
      items: {
        type: "object",
        properties: { ID: id.schema, Data: referenceSchema, MountPath: mountPath.bodySchema },
        anyOf: [{ required: ["ID"] }, { required: ["Data"] }],
      },
    },
    parse: parseTrainData,
  }),
  UserPath: path("user", defaultMountPaths.UserPath),
  CodePath: path("code", defaultMountPaths.CodePath),
  ModelPath: path("model", defaultMountPaths.ModelPath),
  StartMinutes: integer({
    description: "Minutes until the program must answer after its start; 0: the setting `QUAYSIDE_START_MINUTES`.",
    max: bounds.runs.maxStartMinutes.value,
  }),
  IdleMinutes: integer({
    description: "Minutes without use after which a run of it is stopped; 0: only the limit of its person counts, else the lower one.",
    max: bounds.runs.maxIdleMinutes.value,
  }),
  MaxRunHours: integer({
    description: "Hours after which a run of it is stopped; 0: only the limit of its person counts, else the lower one.",
    max: bounds.runs.maxRunHours.value,
  }),
  Warnings: optional(
    list(text({})),
    "In answers to POST and PUT: sentences about a published project whose image or datasets other people may not use.",
  ),
  Running: boolean({ description: "Whether the caller has a run of it that is up. Computed.", write: "never" }),
}

/** A project as it is answered. */
export type Project = AnswerValues<typeof projectFields>
export const projectModel = structure("ProjectModel", projectFields)

/** The `ID` of an object that a body refers to. */
export function reference(value: unknown, field: string): number {
  const object = parseObject(value, field, field)
  if (!Object.hasOwn(object, "ID")) throw new Failure("invalid", `${field}.ID is needed`, { field })
  if (typeof object.ID !== "number")
    throw new Failure("invalid", `${field}.ID must be a whole number; got ${describeValue(object.ID)}`, { field })
  return id.parse(object.ID, `${field}.ID`)
}

function parseTrainData(value: unknown, field: string): ProjectDataInput[] {
  if (!Array.isArray(value)) throw invalidField(field, "a list", value)
  if (value.length > maxProjectDatasets) throw invalidField(field, `at most ${maxProjectDatasets} datasets long; got ${value.length}`)
  return value.map((entry, i) => {
    const at = `${field}[${i}]`
    const object = parseObject(entry, at, field)
    try {
      const isLink = Object.hasOwn(object, "Data")
      return {
        ID: reference(isLink ? object.Data : object, isLink ? `${at}.Data` : at),
        MountPath: Object.hasOwn(object, "MountPath") ? mountPath.parse(object.MountPath, `${at}.MountPath`) : undefined,
      }
    } catch (error) {
      if (error instanceof Failure) throw new Failure("invalid", error.message, { field })
      throw error
    }
  })
}
