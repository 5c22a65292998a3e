import { isUtf8 } from "node:buffer"
import { bounds } from "#contract"
import type { Access } from "../access/authority.ts"
import { fileFailure, notFound } from "../failures.ts"
import type { Resource } from "../properties/live-properties.ts"
import { isHidden, pathText } from "../requests/address.ts"
import type { Call } from "../requests/dav-request.ts"
import { Slice } from "../requests/yielder.ts"
import type { Folder } from "../tree/directory-handle.ts"
import { placeOfExisting } from "../tree/entry-location.ts"
import { type Depth, tooDeep } from "./propfind.ts"

/** Called for each entry; what it returns is waited for. */
export type Visit = (resource: Resource) => Promise<void> | undefined

const deepest = bounds.files.levels.value
/** So many names of a directory that is only passed through are asked about at once. */
const batch = 500

interface Walk {
  call: Call
  deep: boolean
  visit: Visit
  slice: Slice
}

/** Visits the call's entry and, as deep as is asked, what the caller may see below it. */
export async function listing(call: Call, options: { depth: Depth; level: Access["level"]; visit: Visit }): Promise<void> {
  const { depth, level, visit } = options
  const { names, scene } = call
  if (names.length === 0) {
    await visit({ path: "/", name: "", stats: scene.root.stat(), directory: true })
    if (depth !== "0")
      await children({ call, deep: depth === "infinity", visit, slice: new Slice(scene.slices, call.person.userId) }, scene.root, {
        names,
        level,
      })
    return
  }
  using place = placeOfExisting(scene.root, names)
  const directory = place.stats.isDirectory()
  if (!directory && (call.address.slash || level === "passage")) throw notFound()
  await visit({ path: pathText(names), name: place.name, stats: place.stats, directory })
  if (depth === "0" || !directory) return
  using folder = place.parent.folder(place.name)
  await children({ call, deep: depth === "infinity", visit, slice: new Slice(scene.slices, call.person.userId) }, folder, { names, level })
}

async function children(walk: Walk, folder: Folder, at: { names: readonly string[]; level: Access["level"] }): Promise<void> {
  const entries = folder.entries()
  try {
    let some: string[] = []
    for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
      if (!isUtf8(entry.name)) continue
      const name = entry.name.toString()
      if (isHidden(name, at.names.length)) continue
      if (at.level !== "passage") {
        await child(walk, folder, { names: at.names, name, level: at.level })
        continue
      }
      some.push(name)
      if (some.length < batch) continue
      await visibleOnes(walk, folder, { names: at.names, some })
      some = []
    }
    if (some.length > 0) await visibleOnes(walk, folder, { names: at.names, some })
  } finally {
    entries.closeSync()
  }
}

async function visibleOnes(walk: Walk, folder: Folder, at: { names: readonly string[]; some: string[] }): Promise<void> {
  const { call } = walk
  const accesses = await call.scene.rights.accesses(
    call.person.userId,
    at.some.map((name) => pathText([...at.names, name])),
  )
  for (const [i, name] of at.some.entries()) {
    const level = accesses[i]?.level ?? "none"
    if (level !== "none") await child(walk, folder, { names: at.names, name, level })
  }
}

async function child(walk: Walk, folder: Folder, at: { names: readonly string[]; name: string; level: Access["level"] }): Promise<void> {
  const stats = folder.look(at.name)
  const directory = stats?.isDirectory() ?? false
  if (!stats || !(directory || (stats.isFile() && at.level !== "passage"))) return
  const parent = pathText(at.names)
  const waiting =
    walk.visit({ path: parent === "/" ? `/${at.name}` : `${parent}/${at.name}`, name: at.name, stats, directory }) ?? walk.slice.pause()
  if (waiting) await waiting
  if (!walk.deep || !directory) return
  if (at.names.length >= deepest) throw tooDeep()
  await below(walk, folder, at)
}

/** What was swapped for a link, or vanished, since it was looked at is passed over. */
async function below(walk: Walk, folder: Folder, at: { names: readonly string[]; name: string; level: Access["level"] }): Promise<void> {
  let next: Folder
  try {
    next = folder.folder(at.name)
  } catch (error) {
    if (fileFailure(error)?.status === 503) throw error
    return
  }
  using held = next
  await children(walk, held, { names: [...at.names, at.name], level: at.level })
}
