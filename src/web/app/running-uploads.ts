import { useSyncExternalStore } from "react"

export interface RunningUploads {
  doneFiles: number
  files: number
}

let running: RunningUploads | undefined
const listeners = new Set<() => void>()

function warn(event: BeforeUnloadEvent): void {
  event.preventDefault()
}

/** Undefined: none. While uploads run, the browser asks before it leaves the page. */
export function setRunningUploads(uploads: RunningUploads | undefined): void {
  if (uploads && !running) addEventListener("beforeunload", warn)
  if (!uploads) removeEventListener("beforeunload", warn)
  running = uploads
  for (const each of listeners) each()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The uploads that go on while a person looks at other pages. */
export function useRunningUploads(): RunningUploads | undefined {
  return useSyncExternalStore(subscribe, () => running)
}
