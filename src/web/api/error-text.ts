import { Failure, type FailureCode } from "#contract"
import { texts } from "../text/index.ts"
import { formatBytes } from "./formats.ts"

/** An error in words: one sentence on what failed, one on what helps. */
export interface ErrorText {
  title: string
  hint: string | undefined
  /** The field of a form at fault. */
  field: string | undefined
  /** For the server's log. */
  requestId: string | undefined
}

const hints: { readonly [Code in FailureCode]?: string } = texts.errors.hints

/** Turns whatever was thrown into words. All places that show an error use it. */
export function errorText(error: unknown): ErrorText {
  if (error instanceof Failure) return failureText(error)
  // A browser reports every lost connection as a TypeError of `fetch`.
  if (error instanceof TypeError && /fetch|network|load failed/i.test(error.message))
    return { title: texts.errors.unreachable, hint: texts.errors.unreachableHint, field: undefined, requestId: undefined }
  const detail = error instanceof Error ? error.message : String(error)
  return { title: texts.errors.page, hint: detail, field: undefined, requestId: undefined }
}

function failureText(failure: Failure): ErrorText {
  const { requestId, Reason: reason } = failure.extra as { requestId?: string; Reason?: { hint?: string } | null }
  return {
    title: toSentence(failure.message),
    hint: reason?.hint ? toSentence(reason.hint) : usualHint(failure),
    field: failure.field,
    requestId: failure.code === "internal" ? requestId : undefined,
  }
}

/** A refusal of two sentences says what to do itself. */
function usualHint({ code, message }: Failure): string | undefined {
  return message.includes(". ") ? undefined : hints[code as FailureCode]
}

/**
 * A text of the server as pages show it: with a period at its end, amounts in the units of the
 * pages, and without the calls of the API that it names for programs.
 */
export function toSentence(text: string): string {
  const words = text
    .replaceAll(/[;,] `(?:GET|POST|PATCH|PUT|DELETE) [^`]*`[^;.]*/g, "")
    .replaceAll(/\b(\d+) MiB\b/g, (_, amount: string) => formatBytes(Number(amount) * 2 ** 20))
  return /[.!?…]$/.test(words) ? words : `${words}.`
}
