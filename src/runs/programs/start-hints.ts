import type { Reason } from "#contract"
import type { RunPlan } from "#store"
import { ruleOfType } from "../project-types.ts"
import { described, searchPrefix } from "./program-search.ts"

const howTo = "see docs/how-to/bring-your-own-image.md"
const asked = "an administrator can make it writable (WritablePaths of the image)"

/** Lines in which programs say that they lack rights. Each quantifier is bounded. */
const denied = /permission denied|EACCES|operation not permitted|EPERM/i
const readOnly = /read-only file ?system|EROFS/i
const wantsRoot =
  /\b(?:must|needs?|has|have|only) (?:to )?(?:be )?(?:run |started |executed )?(?:as |by )?(?:the )?root\b|\b(?:setuid|setgid|setgroups|initgroups|seteuid|chown|su-exec|gosu|drop privileges?|drop privilege as)\b/i
const absolutePath = /(?:^|[\s"'`(=:[])(\/[\w.@%+,/-]{1,300})/g

/** The last lines are enough, and a line is read up to this length. */
const maxLines = 50
const maxLineCharacters = 1_000
const maxSearchCharacters = 1_000

const failuresOfPrograms: readonly string[] = ["exited", "port_not_open", "not_answering", "command_not_found"]

/**
 * Adds to the reason of a failed start what its last lines of output show: that the type's program
 * was not found, or a right that runs do not have, with what can be changed.
 */
export function explainFailedStart(plan: RunPlan, reason: Reason): Reason {
  if (!failuresOfPrograms.includes(reason.code)) return reason
  const lines = (reason.logTail ?? "").split("\n").slice(-maxLines)
  const wrongType = explainSearch(plan, reason, lines)
  if (wrongType) return wrongType
  const hint = lines.map((line) => missingRight(plan, line.slice(0, maxLineCharacters))).find((each) => each !== undefined)
  return hint === undefined ? reason : { ...reason, msg: `${reason.msg}. ${hint}; ${howTo}` }
}

function explainSearch(plan: RunPlan, reason: Reason, lines: readonly string[]): Reason | undefined {
  const { program } = ruleOfType(plan.type)
  if (program === null || plan.command !== null) return undefined
  if (reason.code === "command_not_found") {
    const msg = `The image has no shell (/bin/sh), with which the type ${plan.type} looks for ${described(program)}. Type http needs none; ${howTo}`
    return { ...reason, msg }
  }
  const line = lines.find((each) => each.startsWith(`${searchPrefix}looked for `))?.slice(searchPrefix.length, maxSearchCharacters)
  if (line === undefined) return undefined
  const code = reason.code === "exited" ? "command_not_found" : reason.code
  const isOwn = lines.some((each) => each.startsWith(`${searchPrefix}starting `))
  const end = isOwn ? `; its own entry point ran instead. ${reason.msg}` : ""
  return { ...reason, code, msg: `The image has no program of type ${plan.type}: ${line}${end}; ${howTo}` }
}

/** A sentence about a right that the program lacked, without its end. */
function missingRight({ mounts }: RunPlan, line: string): string | undefined {
  const [isDenied, isReadOnly] = [denied.test(line), readOnly.test(line)]
  const path = isDenied || isReadOnly ? pathIn(line) : undefined
  const mount = path && mounts.find(({ target }) => path === target || path.startsWith(`${target}/`))
  if (mount) return mount.readOnly ? `The program wants to write to ${path}, and ${mount.target} is mounted read-only` : undefined
  if (path && isReadOnly) return `The program wants to write to ${path}, and the root file system is read-only: ${asked}`
  if (wantsRoot.test(line)) return "The program wants to be root, or to become another user, and runs are never root"
  return path && isDenied ? `The program may not use ${path}, since runs are never root: ${asked}` : undefined
}

/** The last path of a line: the program's own often begins it. */
function pathIn(line: string): string | undefined {
  return [...line.matchAll(absolutePath)].at(-1)?.[1]?.replace(/[.,:/]+$/, "")
}
