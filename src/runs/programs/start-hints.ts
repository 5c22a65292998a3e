import type { Reason } from "#contract"
import type { RunPlan } from "#store"
import { ruleOfType } from "../project-types.ts"
import { hintOfCommand } from "./command-hints.ts"
import { describePrograms, searchPrefix } from "./program-search.ts"

const howTo = "see docs/how-to/bring-your-own-image.md"
const writableHint = `Ask an administrator to make it writable (WritablePaths of the image); ${howTo}`
const programHint = `Choose an image with such a program or another type, or enter the image's Command; ${howTo}`
const rootHint = `Change the image so that its program runs as any user; ${howTo}`
const workDirHint = `Let the program write to /work/code or to its home, by its options or variables; ${howTo}`
const buildHint = `Install packages of the system when the image is built: runs are never root; ${howTo}`
const packageHint = `Add the package to the image, or install it into the home; ${howTo}`
const mountHint = "Let the program write elsewhere, or ask the dataset's owner for the right to write"

/** Lines in which programs say that they lack rights. Each quantifier is bounded. */
const denied = /permission denied|EACCES|operation not permitted|EPERM/i
const readOnly = /read-only file ?system|EROFS/i
const wantsRoot =
  /\b(?:must|needs?|has|have|only) (?:to )?(?:be )?(?:run |started |executed )?(?:as |by )?(?:the )?root\b|\b(?:setuid|setgid|setgroups|initgroups|seteuid|chown|su-exec|gosu|drop privileges?|drop privilege as)\b/i
/** SQLite names no path; other programs quote a path that is relative to their directory. */
const deniedRelative =
  /unable to open database file|(?:permission denied|EACCES)[^'"‘]{0,50}['"‘](?!\/)|['"‘][^/'"‘’][^'"‘’]{0,300}['"’]: permission denied/i
/** GNU programs quote with ‘ in the language of runs. */
const absolutePath = /(?:^|[\s"'`‘(=:[])(\/[\w.@%+,/-]{1,300})/g
/** Directories of apt, dpkg, dnf, yum, rpm and apk. */
const systemPackages = /^\/(?:var\/(?:lib|cache)\/(?:apt|dpkg|dnf|yum|rpm)|(?:lib|etc)\/apk)(?:\/|$)/
/** A library that Python, R or Node.js does not find. */
const missingPackage = /\b(?:no module named|there is no package called|cannot find module) ['"‘]?([\w@][\w@/.-]{0,100})/i

/** The last lines are enough, and a line is read up to this length. */
const maxLines = 50
const maxLineCharacters = 1_000
const maxSearchCharacters = 1_000

const failuresOfPrograms: readonly string[] = ["exited", "port_not_open", "not_answering", "command_not_found"]

/**
 * Adds to the reason of a failed start what its command and its last lines of output show: that it
 * was written for a shell, that the type's program or a library was not found, or a right that runs
 * do not have, with what can be changed.
 */
export function explainFailedStart(plan: RunPlan, reason: Reason): Reason {
  if (!failuresOfPrograms.includes(reason.code)) return reason
  const lines = (reason.logTail ?? "").split("\n").slice(-maxLines)
  const wrongType = explainSearch(plan, reason, lines)
  if (wrongType) return wrongType
  const missing = lines.map((line) => missingPart(plan, line.slice(0, maxLineCharacters))).find((each) => each !== undefined)
  if (missing) return { ...reason, msg: `${reason.msg}. ${missing.sentence}`, hint: missing.hint }
  const hint = plan.command && hintOfCommand(plan.command)
  return hint ? { ...reason, hint } : reason
}

function explainSearch(plan: RunPlan, reason: Reason, lines: readonly string[]): Reason | undefined {
  const { program } = ruleOfType(plan.type)
  if (program === null || plan.command !== null) return undefined
  if (reason.code === "command_not_found") {
    const msg = `The image has no shell (/bin/sh), with which the type ${plan.type} looks for ${describePrograms(program)}`
    return { ...reason, msg, hint: `Type http needs no shell; ${howTo}` }
  }
  const line = lines.find((each) => each.startsWith(`${searchPrefix}looked for `))?.slice(searchPrefix.length, maxSearchCharacters)
  if (line === undefined) return undefined
  const code = reason.code === "exited" ? "command_not_found" : reason.code
  const isOwn = lines.some((each) => each.startsWith(`${searchPrefix}starting `))
  const end = isOwn ? `; its own entry point ran instead. ${reason.msg}` : ""
  return { ...reason, code, msg: `The image has no program of type ${plan.type}: ${line}${end}`, hint: programHint }
}

/** A sentence about what the program lacked, without its end, and its cure. */
function missingPart(plan: RunPlan, line: string): { sentence: string; hint: string } | undefined {
  const name = missingPackage.exec(line)?.[1]?.replace(/[./-]+$/, "")
  return name ? { sentence: `The program lacks the package ${JSON.stringify(name)}`, hint: packageHint } : missingRight(plan, line)
}

function missingRight({ mounts }: RunPlan, line: string): { sentence: string; hint: string } | undefined {
  const [isDenied, isReadOnly] = [denied.test(line), readOnly.test(line)]
  const path = isDenied || isReadOnly ? pathIn(line) : undefined
  const mount = path && mounts.find(({ target }) => path === target || path.startsWith(`${target}/`))
  if (mount) {
    const sentence = `The program wants to write to ${path}, and ${mount.target} is mounted read-only`
    return mount.readOnly ? { sentence, hint: mountHint } : undefined
  }
  if (path && isReadOnly) {
    return { sentence: `The program wants to write to ${path}, and the root file system is read-only`, hint: writableHint }
  }
  if (wantsRoot.test(line)) {
    return { sentence: "The program wants to be root, or to become another user, and runs are never root", hint: rootHint }
  }
  if (!path && deniedRelative.test(line)) {
    return { sentence: "The program may not write to its working directory, since runs are never root", hint: workDirHint }
  }
  if (!path || !isDenied) return undefined
  const hint = systemPackages.test(path) ? buildHint : writableHint
  return { sentence: `The program may not use ${path}, since runs are never root`, hint }
}

/** The last path of a line: the program's own often begins it. */
function pathIn(line: string): string | undefined {
  return [...line.matchAll(absolutePath)].at(-1)?.[1]?.replace(/[.,:/]+$/, "")
}
