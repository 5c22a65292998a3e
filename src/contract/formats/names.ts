const namePattern = /^[a-z0-9][a-z0-9._-]{0,63}$/
const wanted = "1 to 64 of a-z, 0-9, ., _ and -, starting with a letter or digit, without .."

/** Names that mean nobody, as in the audit. */
const reserved = ["anonymous", "quayside"]

/** A description of valid names of people and groups, or undefined if the text is one. */
export function accountNameError(text: string): string | undefined {
  if (reserved.includes(text)) return `${wanted}, and none of ${reserved.join(", ")}`
  return namePattern.test(text) && !text.includes("..") ? undefined : wanted
}

/**
 * A description of valid names of images, datasets, projects and tokens, or undefined if the text
 * is one. A character that reverses text would show a name as another one.
 */
export function displayNameError(text: string): string | undefined {
  return /\p{Bidi_Control}/u.test(text) ? "a name without characters that change the direction of text, such as U+202E" : undefined
}

/**
 * A description of valid container ports, or undefined if the text is one. Empty means the type's
 * default.
 */
export function portError(text: string): string | undefined {
  return text === "" || parsePort(text) !== undefined ? undefined : "a TCP port from 1 to 65535, like 8888 or 8888/tcp"
}

/** The number of a port setting; undefined for the empty text and for an invalid port. */
export function parsePort(text: string): number | undefined {
  const match = /^([1-9][0-9]{0,4})(?:\/tcp)?$/.exec(text)
  const port = Number(match?.[1])
  return match && port <= 65535 ? port : undefined
}
