/** A name as it is shown. Characters that reverse text could show another name or extension. */
export function safeDisplayName(name: string): string {
  return name.replaceAll(/\p{Bidi_Control}/gu, "\ufffd")
}
