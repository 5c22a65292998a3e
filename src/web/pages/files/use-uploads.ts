import { useEffect, useRef, useSyncExternalStore } from "react"
import { setRunningUploads } from "../../app/running-uploads.ts"
import { showError } from "../../components/toast.tsx"
import type { DroppedItems } from "./dropped-files.ts"
import { ensureDirectory, forgetDirectories, sendFile } from "./send-file.ts"
import { UploadQueue, type UploadSummary } from "./upload-queue.ts"

/** One queue for the whole page, so that a person can look at other folders meanwhile. */
const queue = new UploadQueue(sendFile)
queue.subscribe(() => {
  const { isActive, doneFiles, files } = queue.getSummary()
  setRunningUploads(isActive ? { doneFiles, files } : undefined)
})

export interface Uploads {
  summary: UploadSummary
  queue: UploadQueue
  add: (dropped: DroppedItems) => void
}

/** Uploads into a directory; `onDone` is called when the files of a while are there. */
export function useUploads(path: string, onDone: () => void): Uploads {
  const summary = useSyncExternalStore(queue.subscribe, queue.getSummary)
  const done = useRef(onDone)
  done.current = onDone
  const { isActive, doneFiles } = summary
  useEffect(() => {
    if (!isActive && doneFiles > 0) done.current()
  }, [isActive, doneFiles])
  const add = ({ files, directories }: DroppedItems) => {
    if (!queue.getSummary().isActive) forgetDirectories()
    Promise.all(directories.map((each) => ensureDirectory(each, path))).then(() => directories.length > 0 && done.current(), showError)
    queue.add(files)
  }
  return { summary, queue, add }
}
