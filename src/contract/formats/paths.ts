import { bounds } from "../bounds/index.ts"

const maxNames = bounds.files.pathNames.value

/**
 * The mount paths of a project that sets none. The program's HOME is the user
 * directory; it starts in the image's working directory, or in
 * the code directory if the image has none.
 */
export const defaultMountPaths = {
  UserPath: "/work/home",
  CodePath: "/work/code",
  ModelPath: "/work/model",
  /** Followed by a name made from the dataset's. */
  data: "/work/data/",
} as const

/** Mounting here, or anywhere below, would hide files that every program needs. */
const systemTrees = [
  "/bin",
  "/boot",
  "/dev",
  "/etc",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/proc",
  "/sbin",
  "/sys",
  "/usr/bin",
  "/usr/lib",
  "/usr/lib64",
  "/usr/libexec",
  "/usr/sbin",
]
/** Mounting exactly here would; below is fine. */
const systemDirectories = ["/home", "/opt", "/root", "/run", "/tmp", "/usr", "/usr/local", "/usr/share", "/var"]

/**
 * A description of valid mount paths in a container, or undefined if the text is one. An
 * empty text means the default.
 */
export function mountPathError(text: string): string | undefined {
  if (text === "") return undefined
  const shape = absolutePathError(text)
  if (shape !== undefined) return shape
  const path = normalizePath(text)
  if (path === "/") return "a path below /, not / itself"
  const tree = systemTrees.find((system) => path === system || path.startsWith(`${system}/`))
  if (tree !== undefined) return `a path outside the system directory ${tree}`
  if (systemDirectories.includes(path)) return `a path below the system directory ${path}, not itself`
  return undefined
}

/**
 * A description of directories that an image's runs may write to, or undefined if the text is one.
 * Except `/`, each hides what the image has there.
 */
export function writablePathError(text: string): string | undefined {
  const shape = absolutePathError(text)
  if (shape !== undefined) return shape
  const path = normalizePath(text)
  const kernelTree = ["/dev", "/proc", "/sys"].find((tree) => path === tree || path.startsWith(`${tree}/`))
  if (kernelTree !== undefined) return `a path outside ${kernelTree}`
  const isNeeded = systemTrees.includes(path) || ["/usr", "/usr/local", "/usr/share", "/opt", "/var"].includes(path)
  return isNeeded ? `a path below the system directory ${path}, not itself` : undefined
}

/**
 * A description of absolute paths without `.` or `..`, or undefined if the text is one. A slash at
 * the end is fine.
 */
function absolutePathError(text: string): string | undefined {
  if (!text.startsWith("/")) return "an absolute path"
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(text)) return "a path without control characters"
  const names = text.slice(1).split("/")
  if (names.at(-1) === "") names.pop()
  if (names.includes("")) return "a path without //"
  if (names.includes(".") || names.includes("..")) return "a path without . and .."
  if (names.some((name) => new TextEncoder().encode(name).length > 255)) return "a path whose names are at most 255 bytes long"
  return undefined
}

/** The path without a slash at its end. */
export function normalizePath(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path
}

/**
 * A directory's name made from a display name: lower case, without characters that are special in a
 * shell, never empty.
 */
export function slugify(name: string, fallback: string): string {
  const made = name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[-._]+/, "")
    .slice(0, 64)
  const end = made.search(/[^-._][-._]*$/) + 1
  return end === 0 ? fallback : made.slice(0, end)
}

/**
 * A description of valid dataset directories, or undefined if the text is one below the files root.
 * Empty means a new directory.
 */
export function accessInfoError(text: string): string | undefined {
  if (text === "") return undefined
  const shape = absolutePathError(text)
  if (shape !== undefined) return shape
  const path = normalizePath(text)
  if (path === "/.quayside" || path.startsWith("/.quayside/")) return "a directory that is not the service's own"
  if (path.split("/").length - 1 > maxNames) return `a path of at most ${maxNames} names`
  if (path === "/" || path === "/users") return "a directory below the files root other than / and /users"
  return undefined
}

export interface MountPlan {
  UserPath: string
  CodePath: string
  ModelPath: string
  /** In the order of the datasets. */
  data: string[]
}

/**
 * The mount paths of a project: given ones as they are, without a slash at the end, missing ones by
 * default and unique. If two paths are the same, it returns the field at fault and what it must be.
 */
export function planMounts(
  places: { UserPath: string; CodePath: string; ModelPath: string },
  datasets: readonly { name: string; id: number; mountPath: string }[],
): MountPlan | { field: string; expected: string } {
  const taken = new Map<string, string>()
  const plan: MountPlan = { UserPath: "", CodePath: "", ModelPath: "", data: [] }
  for (const field of ["UserPath", "CodePath", "ModelPath"] as const) {
    const path = normalizePath(places[field] || defaultMountPaths[field])
    const other = taken.get(path)
    if (other !== undefined) return { field, expected: `another place than ${other}, which is at ${path} too` }
    taken.set(path, field)
    plan[field] = path
  }
  for (const dataset of datasets) {
    const path = normalizePath(dataset.mountPath)
    if (path === "") continue
    const other = taken.get(path)
    if (other !== undefined) return { field: "TrainData", expected: `mounted at places of their own: ${path} is used by ${other} too` }
    taken.set(path, `the dataset ${dataset.id}`)
  }
  for (const dataset of datasets) plan.data.push(normalizePath(dataset.mountPath) || freeMountPath(dataset, taken))
  return plan
}

function freeMountPath(dataset: { name: string; id: number }, taken: Map<string, string>): string {
  const base = defaultMountPaths.data + slugify(dataset.name, `data-${dataset.id}`)
  let path = base
  for (let n = 2; taken.has(path); n += 1) path = `${base}-${n}`
  taken.set(path, `the dataset ${dataset.id}`)
  return path
}
