import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { bounds } from "#contract"
import { childEnvironment } from "../host/child-environment.ts"
import { bytesPerInode, type EngineDisk } from "../observe/engine-disk.ts"
import type { ImageInspection } from "./image-config.ts"

const run = promisify(execFile)

const { entryBytes } = bounds.storage
/** Layers and images whose entries are remembered. */
const maxKnown = 10_000

type Layers = Pick<ImageInspection, "Id" | "Size" | "GraphDriver">

/**
 * The space that images take of the daemon's disk: their bytes, or the share of the disk's inodes
 * that their files and directories have, whichever is more. An image of millions of empty files has
 * no bytes.
 */
export class ImageRooms {
  readonly #disk: () => Promise<EngineDisk | null>
  readonly #entriesOfLayers = new Map<string, number>()
  readonly #rooms = new Map<string, number>()
  readonly #measuring = new Map<string, Promise<number>>()

  constructor(disk: () => Promise<EngineDisk | null>) {
    this.#disk = disk
  }

  /** Undefined unless the image was measured. */
  known(id: string): number | undefined {
    return this.#rooms.get(id)
  }

  /**
   * Layers do not change, so each is counted once. A hidden one counts no entries. Callers at the
   * same time share the count.
   */
  measure(image: Layers): Promise<number> {
    const measuring = this.#measuring.get(image.Id) ?? this.#measure(image).finally(() => this.#measuring.delete(image.Id))
    this.#measuring.set(image.Id, measuring)
    return measuring
  }

  async #measure(image: Layers): Promise<number> {
    const known = this.#rooms.get(image.Id)
    if (known !== undefined) return known
    const disk = await this.#disk()
    const bytesOfEntry = Math.max(entryBytes.value, disk ? bytesPerInode(disk) : 0)
    const room = Math.max(image.Size, (await this.#countEntries(layersOf(image))) * bytesOfEntry)
    remember(this.#rooms, image.Id, room)
    return room
  }

  async #countEntries(layers: readonly string[]): Promise<number> {
    const unknown = layers.filter((layer) => !this.#entriesOfLayers.has(layer))
    for (const [layer, entries] of await countInodes(unknown)) remember(this.#entriesOfLayers, layer, entries)
    return layers.reduce((sum, layer) => sum + (this.#entriesOfLayers.get(layer) ?? 0), 0)
  }
}

function remember(known: Map<string, number>, key: string, value: number): void {
  known.set(key, value)
  for (const oldest of known.keys()) if (known.size > maxKnown) known.delete(oldest)
}

/** The directories of an image's layers, where the daemon's storage driver has them. */
function layersOf({ GraphDriver }: Layers): string[] {
  const { UpperDir = "", LowerDir = "" } = (GraphDriver?.Data ?? {}) as { UpperDir?: string; LowerDir?: string }
  return [UpperDir, ...LowerDir.split(":")].filter((layer) => layer.startsWith("/"))
}

/** By directory: the inodes in it. Those that cannot be read are missing. */
async function countInodes(directories: readonly string[]): Promise<[string, number][]> {
  if (directories.length === 0) return []
  const options = ["--inodes", "--summarize", "--one-file-system", "--"]
  // It fails if a layer is removed meanwhile, and still counts the others.
  const counting = run("du", [...options, ...directories], { env: childEnvironment })
  const { stdout } = await counting.catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? "" }))
  return stdout.split("\n").flatMap((line) => {
    const [count = "", directory = ""] = line.split("\t", 2)
    return directory === "" ? [] : [[directory, Number(count)] as [string, number]]
  })
}
