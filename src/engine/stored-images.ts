/** An image on the engine's disk. */
export interface StoredImage {
  digest: string
  /** Complete references, without those by digest; none if its names moved to other images. */
  references: readonly string[]
  /** Unpacked size in bytes; images may share a part of it. */
  size: number
  /**
   * Bytes of the engine's disk that it keeps from others: more than its size if it has very many
   * files. Default: its size.
   */
  room?: number
}

export interface RemovableImage {
  digest: string
  /** Complete references under which Quayside fetched it. */
  references: readonly string[]
}

/** `foreign`: it has a name that Quayside did not give it. */
export type ImageRemoval = "removed" | "missing" | "in_use" | "foreign"

/** Receives each image that a pull brought. */
export type OnPull = (pulled: PulledImage) => Promise<void>
export interface PulledImage {
  /** The complete reference. */
  reference: string
  digest: string
  /** Whether the engine did not have it before, under any name. */
  isNew: boolean
  /** The name of the person for whom it was fetched; empty: nobody. */
  owner: string
}

/** The engine's disk has less free than most images need. */
export interface LittleRoom {
  lackingBytes: number
  /** The size of the disk. */
  totalBytes: number
}

/** A pull that is about to begin. */
export interface RoomRequest {
  /** As in `PulledImage`. */
  owner: string
  /** Measures now; undefined: the disk lacks nothing or is hidden. Rejects if the pull ended. */
  measure(): Promise<LittleRoom | undefined>
  /** Called before the first removal. Rejects if the registry does not offer the image now. */
  assertOffered(): Promise<unknown>
  /** Called before each removal. */
  report(lacking: LittleRoom): void
}

/** Removes what it can. Rejects with an `EngineError` if the owner may not have more images. */
export type MakeRoom = (request: RoomRequest) => Promise<void>
