import type { ReactNode } from "react"
import { Failure } from "#contract"
import { errorText } from "../../api/error-text.ts"
import { EmptyState, Loaded, Note } from "../../components/feedback.tsx"
import { PageHeader } from "../../components/page.tsx"
import { resourceTexts } from "../../text/resources.ts"

interface Read<T> {
  data: T | undefined
  error: Error | null
  isPending: boolean
  refetch: () => unknown
}

/** Whether the object was deleted, or the right to see it withdrawn. */
function isGone(error: unknown): boolean {
  return error instanceof Failure && (error.status === 404 || error.status === 403)
}

/** An object as long as the person may see it, and after that the reason and a way on. */
export function UnlessGone<T>({ query, back, children }: { query: Read<T>; back: ReactNode; children: (data: T) => ReactNode }) {
  if (isGone(query.error))
    return (
      <>
        <PageHeader title={resourceTexts.editing.notFound} />
        <div role="alert">
          <EmptyState title={errorText(query.error).title}>
            <p>{errorText(query.error).hint}</p>
            {back}
          </EmptyState>
        </div>
      </>
    )
  return (
    <Loaded query={query} height={12}>
      {children}
    </Loaded>
  )
}

/** A form stays, with all that was typed, after its object is gone. */
export function FormUnlessGone<T>({ query, back, children }: { query: Read<T>; back: ReactNode; children: (data: T) => ReactNode }) {
  if (query.data === undefined)
    return (
      <UnlessGone query={query} back={back}>
        {children}
      </UnlessGone>
    )
  return (
    <>
      {isGone(query.error) && (
        <Note tone="bad" role="alert">
          <div className="grow">
            <strong>{resourceTexts.editing.gone}</strong>
            <p>{resourceTexts.editing.goneHint}</p>
          </div>
          {back}
        </Note>
      )}
      {children(query.data)}
    </>
  )
}
