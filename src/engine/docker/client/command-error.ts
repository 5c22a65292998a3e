import { isForeignArchitecture, ownArchitecture, wrongArchitectureHint, wrongArchitectureMessage } from "../../architecture.ts"
import { EngineError, type ImageInfo } from "../../engine.ts"

const maxNameCharacters = 100

/** The image that a program should come from. */
export interface ProgramImage extends Pick<ImageInfo, "architecture"> {
  /** As the person wrote it. */
  name: string
}

/**
 * The same error with a sentence that names the program and its fault. Other errors are returned as
 * they are. The runtime and the init report the fault in one line of `detail`.
 */
export function explainCommandError(error: unknown, image: ProgramImage): unknown {
  if (!(error instanceof EngineError) || error.code !== "command_not_found") return error
  const { detail = "" } = error
  const { name } = image
  const options = { detail, cause: error.cause }
  if (/no command specified/i.test(detail)) {
    const hint = "Enter the image's Command: the words that start its program"
    return new EngineError("command_not_found", `The image ${name} has no command of its own, and none was given`, { ...options, hint })
  }
  const program = programIn(detail)
  const quoted = program === undefined ? "The program" : `The program ${JSON.stringify(program)}`
  if (/exec format error/i.test(detail)) return formatError(quoted, image, options)
  if (/permission denied/i.test(detail)) {
    const hint = "Make it executable for everybody in the image (`RUN chmod a+rx FILE`): runs are never root"
    return new EngineError("command_not_found", `${quoted} of the image ${name} is not executable for runs`, { ...options, hint })
  }
  if (program === undefined) return error
  const hint = `Correct the image's Command, or choose an image that has ${JSON.stringify(program)}`
  return new EngineError("command_not_found", `The image ${name} has no program ${JSON.stringify(program)}`, { ...options, hint })
}

function formatError(quoted: string, { architecture, name }: ProgramImage, options: { detail: string; cause: unknown }): EngineError {
  const own = ownArchitecture
  if (isForeignArchitecture(architecture)) {
    const msg = wrongArchitectureMessage(name, architecture)
    return new EngineError("wrong_architecture", msg, { ...options, hint: wrongArchitectureHint() })
  }
  const hint = "Begin the script with a line such as `#!/bin/sh`, or build the program for this machine's processor"
  return new EngineError("command_not_found", `${quoted} of the image ${name} is neither a program for ${own} nor a script`, {
    ...options,
    hint,
  })
}

/** The name in `exec: "NAME": fault` (runtime) or `[FATAL tini (7)] exec NAME failed: fault`. */
function programIn(detail: string): string | undefined {
  for (const line of detail.split("\n")) {
    const runtime = line.indexOf('exec: "')
    if (runtime >= 0) return nonEmpty(line.slice(runtime + 7).split('":', 1)[0])
    const init = line.search(/\[FATAL\s+tini \(\d+\)\] exec /)
    if (init >= 0) return nonEmpty(line.slice(line.indexOf("] exec ", init) + 7, line.lastIndexOf(" failed")))
  }
  return undefined
}

function nonEmpty(name: string | undefined): string | undefined {
  return name?.slice(0, maxNameCharacters) || undefined
}
