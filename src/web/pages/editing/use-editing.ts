import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { Failure } from "#contract"
import { beginEditing, changesOf, type Editing, rebase } from "./merge.ts"

interface EditingOptions<D extends object, R> {
  /** The newest known version; events bring it. */
  latest: D
  etag: string
  /** Sends the changed fields for one version. */
  save: (changes: Partial<D>, etag: string) => Promise<R>
  /** Begins the key of the read to repeat after a refusal for a newer version. */
  operation: string
  onSaved: (saved: R) => void
}

export interface EditingState<D extends object> {
  editing: Editing<D>
  setEditing: (editing: Editing<D>) => void
  saving: { mutate(): void; isPending: boolean; isSuccess: boolean }
  set: (fields: Partial<D>) => void
  isChanged: boolean
  hasConflict: boolean
  /** Null for a refusal as stale, which shows as a conflict with a choice. */
  error: Error | null
}

/** The state of a form that changes an object while others may change it too. */
export function useEditing<D extends object, R>({ latest, etag, save, operation, onSaved }: EditingOptions<D, R>): EditingState<D> {
  const [editing, setEditing] = useState<Editing<D>>(() => beginEditing(latest, etag))
  const cache = useQueryClient()
  const saving = useMutation({
    mutationFn: () => save(changesOf(editing), editing.etag),
    onSuccess: onSaved,
    onError: (error) => {
      if (error instanceof Failure && error.code === "stale") void cache.invalidateQueries({ queryKey: [operation] })
    },
  })
  const { isPending, isSuccess } = saving
  useEffect(() => {
    // The person's own save comes back as an event too.
    if (!isPending && !isSuccess) setEditing((now) => rebase(now, latest, etag))
  }, [latest, etag, isPending, isSuccess])
  return {
    editing,
    setEditing,
    saving,
    set: (fields: Partial<D>) => setEditing((now) => ({ ...now, draft: { ...now.draft, ...fields } })),
    isChanged: Object.keys(changesOf(editing)).length > 0,
    hasConflict: Object.keys(editing.theirs).length > 0,
    error: saving.error instanceof Failure && saving.error.code === "stale" ? null : saving.error,
  }
}
