/** A form on one version of an object, while others may change the object. */
export interface Editing<D extends object> {
  /** The version on which the person works. */
  base: D
  draft: D
  etag: string
  /** The saved values of fields that the person and somebody else both changed. */
  theirs: Partial<D>
  /** The fields that somebody else changed and that the form took over. */
  taken: readonly (keyof D)[]
}

export function beginEditing<D extends object>(base: D, etag: string): Editing<D> {
  return { base, draft: base, etag, theirs: {}, taken: [] }
}

/**
 * Moves the form to a newer version. A field that only somebody else changed takes their value; one
 * that both changed keeps the person's and waits for a choice.
 */
export function rebase<D extends object>(editing: Editing<D>, next: D, etag: string): Editing<D> {
  if (etag === editing.etag) return editing
  const { base, draft } = editing
  const merged = { ...draft }
  const theirs: Partial<D> = {}
  const taken: (keyof D)[] = []
  for (const name of Object.keys(next) as (keyof D)[]) {
    const isTheirs = !isDeepEqual(base[name], next[name]) || name in editing.theirs
    if (!isTheirs || isDeepEqual(draft[name], next[name])) continue
    if (isDeepEqual(draft[name], base[name]) && !(name in editing.theirs)) {
      merged[name] = next[name]
      taken.push(name)
    } else theirs[name] = next[name]
  }
  return { base: next, draft: merged, etag, theirs, taken }
}

/** Ends the conflict of one field by one of the two values. */
export function resolveConflict<D extends object>(editing: Editing<D>, name: keyof D, choice: "mine" | "theirs"): Editing<D> {
  const { [name]: saved, ...theirs } = editing.theirs
  const draft = choice === "theirs" ? { ...editing.draft, [name]: saved } : editing.draft
  return { ...editing, draft, theirs: theirs as Partial<D> }
}

/** The fields that a save sends: those that differ from the version it is for. */
export function changesOf<D extends object>({ base, draft }: Editing<D>): Partial<D> {
  const names = (Object.keys(draft) as (keyof D)[]).filter((name) => !isDeepEqual(base[name], draft[name]))
  return Object.fromEntries(names.map((name) => [name, draft[name]])) as Partial<D>
}

/** Drafts hold plain values, whose properties are always in the same order. */
export function isDeepEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
