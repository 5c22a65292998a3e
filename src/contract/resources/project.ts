import { bounds } from "../bounds/index.ts"
import { Failure } from "../failure.ts"
import { checkMountPath, defaultMountPaths } from "../formats/paths.ts"
import {
  type Answer,
  asObject,
  checkWellFormed,
  describe,
  flag,
  integer,
  invalid,
  type JsonSchema,
  oneOf,
  shaped,
  text,
} from "../schema.ts"
import { projectTypes } from "../states.ts"
import { comment, doc, name, pathPattern, stamps, userName } from "./common.ts"
import type { DataPart } from "./data.ts"
import type { ImagePart } from "./image.ts"

/** The most datasets that a project can have. */
const projectDataMax = bounds.texts.projectDatasets.value

/** ProjectTrainDataModel: a dataset of a project and where it is mounted. */
export interface ProjectData {
  ProjectID: number
  Data: DataPart
  MountPath: string
}

/** What a body says of one dataset of a project, whichever shape it came in. */
export interface ProjectDataInput {
  ID: number
  /** Undefined where the body says nothing of it. */
  MountPath: string | undefined
}

const id = integer({ doc: "" })
/** What a body says of an object that it refers to. */
export const referenceSchema: JsonSchema = { type: "object", properties: { ID: id.schema }, required: ["ID"] }
const mountPath = text({
  // A new one is checked for control characters once it is known which are stored: these are
  // accepted back.
  characters: checkWellFormed,
  doc: `Where it is mounted: absolute, distinct. Empty means \`${defaultMountPaths.data}\` and a name made from the dataset's.`,
  max: bounds.texts.pathCharacters.value,
  pattern: pathPattern,
  format: checkMountPath,
})
const path = (what: string, initial: string) =>
  text({
    doc: `Mount location of the ${what} directory: absolute, distinct. Empty means \`${initial}\`.`,
    max: bounds.texts.pathCharacters.value,
    pattern: pathPattern,
    format: checkMountPath,
  })

/** ProjectModel: an image, datasets, mount locations and a type. */
export const projectFields = {
  ...stamps,
  ProjectName: name("Project name."),
  UserName: userName,
  GroupName: text({
    doc: "The group whose members may see and start it; empty: none. Whoever names one must be in it, unless they are an administrator.",
    max: 64,
  }),
  Type: oneOf({
    doc: "What the program is: decides default port, arguments, landing page and readiness check.",
    values: projectTypes,
    write: "required",
  }),
  Comment: comment,
  Doc: doc,
  IsPublic: flag({ doc: "Whether every signed-in person may see and start it." }),
  IsTrusted: flag({
    doc: "Whether an administrator vouches for it: only then may it hold the home of people other than its owner. Set by administrators only; a change, release or publication by anybody else takes it away.",
  }),
  Image: shaped<ImagePart | number>({
    doc: "The image; in a body only its `ID` counts.",
    write: "optional",
    schema: { $ref: "#/components/schemas/ImagePart" },
    bodySchema: referenceSchema,
    parse: (value, field) => reference(value, field),
  }),
  ImageID: integer({ doc: "The image's ID. A body may name the image here or in `Image`." }),
  TrainData: shaped<ProjectData[] | ProjectDataInput[]>({
    doc: `The datasets, at most ${projectDataMax}. A body's items may be \`{ID}\`, \`{ID, MountPath}\` or \`{Data: {ID}, MountPath}\`; without a place a dataset is mounted at \`${defaultMountPaths.data}\` and a name made from its own.`,
    write: "optional",
    initial: [],
    schema: { type: "array", items: { $ref: "#/components/schemas/ProjectTrainDataModel" } },
    bodySchema: {
      type: "array",
      maxItems: projectDataMax,
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
  Running: flag({ doc: "Whether the caller has a run of it that is up. Computed.", write: "never" }),
}

/** A project as it is answered. */
export type Project = Omit<Answer<typeof projectFields>, "Image" | "TrainData"> & { Image: ImagePart; TrainData: ProjectData[] }

/** The `ID` of an object that a body refers to. */
export function reference(value: unknown, field: string): number {
  const object = asObject(value, field, field)
  if (!Object.hasOwn(object, "ID")) throw new Failure("invalid", `${field}.ID is needed`, { field })
  if (typeof object.ID !== "number")
    throw new Failure("invalid", `${field}.ID must be a whole number; got ${describe(object.ID)}`, { field })
  return id.parse(object.ID, `${field}.ID`)
}

function parseTrainData(value: unknown, field: string): ProjectDataInput[] {
  if (!Array.isArray(value)) throw invalid(field, "a list", value)
  if (value.length > projectDataMax) throw invalid(field, `at most ${projectDataMax} datasets long; got ${value.length}`)
  return value.map((entry, i) => {
    const at = `${field}[${i}]`
    const object = asObject(entry, at, field)
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
