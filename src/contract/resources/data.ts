import { bounds } from "../bounds/index.ts"
import { checkAccessInfo } from "../formats/paths.ts"
import { type Answer, flag, oneOf, text } from "../schema.ts"
import { comment, doc, name, pathPattern, stamps, userName } from "./common.ts"

/** DataModel: a dataset that projects mount and people reach through WebDAV. */
export const dataFields = {
  ...stamps,
  Type: oneOf({ doc: "How the dataset is accessed.", values: ["dir"], initial: "dir" }),
  Name: name("Display name."),
  Comment: comment,
  Doc: doc,
  UserName: userName,
  AccessInfo: text({
    doc: "The directory, absolute below the files root. Empty on POST means a new directory of the owner's. `{files URL}` followed by it (percent-encoded) is its WebDAV address.",
    max: bounds.texts.pathCharacters.value,
    pattern: pathPattern,
    format: checkAccessInfo,
  }),
  IsPublished: flag({ doc: "Whether every signed-in person may see and read it." }),
}

export type Data = Answer<typeof dataFields>
/**
 * A dataset inside a project: everything but its `Doc`, or its ID alone where the caller may not
 * see it.
 */
export type DataPart = Omit<Data, "Doc"> | { ID: number }
