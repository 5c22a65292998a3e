import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs"
import { Socket } from "node:net"
import type { ExecSession } from "./session-processes.ts"

/**
 * The pipe from which a program reads its input. Bytes that are written to it pass neither the
 * daemon nor its runtime, each of which copies them. Undefined if it is not visible from here.
 */
export function openInputPipe({ container, leader }: ExecSession): Socket | undefined {
  let fd: number | undefined
  try {
    fd = openSync(`/proc/${leader}/fd/0`, constants.O_WRONLY | constants.O_NONBLOCK)
    // A program chooses what its descriptor is, and its process ID may be another's by now.
    if (fstatSync(fd).isFIFO() && readFileSync(`/proc/${leader}/cgroup`, "latin1").includes(container))
      return new Socket({ fd, readable: false, writable: true })
  } catch {
    // The daemon passes the input on.
  }
  if (fd !== undefined) closeSync(fd)
  return undefined
}
