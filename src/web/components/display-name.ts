/** A name as it is shown. Characters that reverse text could show another name or extension. */
export function safeDisplayName(name: string): string {
  return name.replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd")
}
