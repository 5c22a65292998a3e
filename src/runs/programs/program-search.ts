import type { ImageInfo } from "#engine"
import type { ProgramRule, ProjectTypeRule } from "../project-types.ts"

/** Begins each line that the search prints. */
export const searchPrefix = "quayside: "

/** A container's entry point and its arguments. */
export interface ProgramStart {
  /** Undefined: the image's own. */
  entryPoint: readonly string[] | undefined
  /** Empty: the image's own. */
  command: readonly string[]
}

/**
 * The start of a type's program: a shell in the container searches it and becomes it. If it finds
 * none, it becomes the image's own entry point with its command.
 */
export function startBySearch(program: ProgramRule, words: readonly string[], own: readonly string[]): ProgramStart {
  return { entryPoint: searchEntryPoint(program), command: [String(own.length), ...own, ...words] }
}

/** The same for every run of a type: an adopted container is recognized by it. */
export function searchEntryPoint(program: ProgramRule): string[] {
  return ["/bin/sh", "-c", searchScript(program), "quayside"]
}

/**
 * The image's own start, which runs if the type's program is not found: only an entry point, or a
 * command beside the type's port. The shell of a base image would just end.
 */
export function imageStartOf(image: ImageInfo | undefined, { port }: ProjectTypeRule): string[] {
  if (!image) return []
  const isMeant = image.entryPoint.length > 0 || image.ports.includes(`${port}/tcp`)
  return isMeant ? [...image.entryPoint, ...image.command] : []
}

/**
 * A POSIX shell script. `$1` is the number of words of the image's own start, which follow; the
 * program's arguments are behind them. Programs in the `PATH` precede those in other directories,
 * which then begin the program's `PATH`.
 */
function searchScript({ names, modules, directories }: ProgramRule): string {
  const folders = ['"$VIRTUAL_ENV/bin"', ...directories].join(" ")
  return [
    "own=$1;shift",
    `for p in ${names.join(" ")};do`,
    'if command -v $p >/dev/null 2>&1;then shift $own;exec $p "$@";fi',
    `for d in ${folders};do if [ -x "$d/$p" ];then shift $own;PATH=$d:$PATH;export PATH;exec "$d/$p" "$@";fi;done;done`,
    ...(modules.length > 0 ? [moduleSearch(modules, folders)] : []),
    `echo "${searchPrefix}looked for ${describePrograms({ names, modules })} in the PATH ($PATH) and in ${directories.join(", ")}" >&2`,
    "[ $own -gt 0 ]||exit 127",
    `echo "${searchPrefix}starting the image's own entry point" >&2`,
    'all=$#;i=0;while [ $i -lt $own ];do set -- "$@" "$1";shift;i=$((i+1));done',
    'shift $((all-own));exec "$@"',
  ].join("\n")
}

function moduleSearch(modules: readonly string[], folders: string): string {
  const test = `"$y" -c "import importlib.util as u,sys;sys.exit(u.find_spec('$m') is None)"`
  return [
    `for m in ${modules.join(" ")};do for d in "" ${folders};do`,
    'y=python3;[ -z "$d" ]||y=$d/python3',
    `if ${test} >/dev/null 2>&1;then shift $own;[ -z "$d" ]||{ PATH=$d:$PATH;export PATH;};exec "$y" -m $m "$@";fi;done;done`,
  ].join("\n")
}

/** The programs by their names, as a person would start them. */
export function describePrograms({ names, modules }: Pick<ProgramRule, "names" | "modules">): string {
  return [...names, ...modules.map((name) => `python3 -m ${name}`)].join(", ")
}
