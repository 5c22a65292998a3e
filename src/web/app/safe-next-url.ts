/** The address after signing in: only one of this service, since anybody can write this address. */
export function safeNextUrl(next: string | undefined, origin: string): string {
  if (!next?.startsWith("/")) return "/ui/"
  try {
    return new URL(next, origin).origin === origin ? next : "/ui/"
  } catch {
    return "/ui/"
  }
}
