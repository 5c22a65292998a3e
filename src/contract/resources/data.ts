import { bounds } from "../bounds/index.ts"
import type { AnswerValues } from "../fields/field.ts"
import { boolean, oneOf } from "../fields/scalars.ts"
import { type StructureValue, structure, wholeOrId } from "../fields/structure.ts"
import { text } from "../fields/text.ts"
import { accessInfoError } from "../formats/paths.ts"
import { commentField, commonFields, docField, nameField, partDescription, pathPattern, userNameField } from "./common.ts"

/** DataModel: a dataset that projects mount and people reach through WebDAV. */
export const dataFields = {
  ...commonFields,
  Type: oneOf({ description: "How the dataset is accessed.", values: ["dir"], initial: "dir" }),
  Name: nameField("Display name."),
  Comment: commentField,
  Doc: docField,
  UserName: userNameField,
  AccessInfo: text({
    description:
      "The directory, absolute below the files root. Empty on POST means a new directory of the owner's. `{files URL}` followed by it (percent-encoded) is its WebDAV address.",
    max: bounds.texts.pathCharacters.value,
    pattern: pathPattern,
    format: accessInfoError,
  }),
  IsPublished: boolean({ description: "Whether every signed-in person may see and read it." }),
}

export type Data = AnswerValues<typeof dataFields>
export const dataModel = structure("DataModel", dataFields)

const { Doc: _doc, ...fieldsWithoutDoc } = dataFields
export const dataWithoutDoc = structure("DataWithoutDoc", fieldsWithoutDoc)
/** A dataset inside a project. */
export const dataPart = wholeOrId("DataPart", dataWithoutDoc, partDescription)
export type DataPart = StructureValue<typeof dataPart>
