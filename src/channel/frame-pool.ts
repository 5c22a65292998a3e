import { maxDataFrameBytes } from "./frames.ts"

/** Frames whose memory is kept for later ones. */
const maxFree = 64
/** Shorter frames are cheap. */
const minBytes = 1_024
const free: ArrayBuffer[] = []

/**
 * Memory for a frame that `releaseFrame` returns once it is sent. New memory for each frame of a
 * bulk transfer costs the garbage collector more time than the transfer itself (`script/bench
 * control`).
 */
export function allocateFrame(bytes: number): Uint8Array {
  if (bytes < minBytes || bytes > maxDataFrameBytes) return new Uint8Array(bytes)
  return new Uint8Array(free.pop() ?? new ArrayBuffer(maxDataFrameBytes), 0, bytes)
}

/** The frame is sent, and nobody reads it any more. */
export function releaseFrame({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === maxDataFrameBytes && free.length < maxFree) free.push(buffer)
}
