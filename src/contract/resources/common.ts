import { bounds } from "../bounds/index.ts"
import { integer, nullableTimestamp, timestamp } from "../fields/scalars.ts"
import { displayNamePattern, text } from "../fields/text.ts"
import { accountNameError, displayNameError } from "../formats/names.ts"

/** The fields that every stored resource carries; the service alone sets them. */
export const commonFields = {
  ID: integer({ description: "Primary key. Assigned by the service; ignored in POST bodies.", write: "never" }),
  CreatedAt: timestamp({ description: "Creation time." }),
  UpdatedAt: timestamp({ description: "Last update time." }),
  DeletedAt: nullableTimestamp({ description: "When it was deleted; null while it is not. Deletion is soft: the owner can restore." }),
}

const namePattern = "^[a-z0-9][a-z0-9._-]{0,63}$"
/** Empty, or absolute and without control characters. */
export const pathPattern = "^$|^/[^/\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$"
const maxDocBytes = bounds.texts.docBytes.value

export const nameField = (description: string) =>
  text({
    description,
    max: bounds.texts.nameCharacters.value,
    write: "required",
    pattern: displayNamePattern,
    format: displayNameError,
  })
export const commentField = text({ description: "Short description.", max: bounds.texts.commentCharacters.value })
export const docField = text({
  description: "Markdown documentation, at most 262,144 bytes in UTF-8.",
  max: maxDocBytes,
  maxBytes: maxDocBytes,
})
export const userNameField = text({
  description: "Owner. Defaults to the caller; only administrators may name somebody else.",
  max: 64,
  pattern: `^$|${namePattern}`,
  format: (value) => (value === "" ? undefined : accountNameError(value)),
})

/** A name that must be there. */
export const accountNameField = (what: string) =>
  text({ description: what, max: 64, write: "required", pattern: namePattern, format: accountNameError })

/** Of a part inside of another object. */
export const partDescription = "The object without its `Doc`, or its ID alone if the caller may not see it."
