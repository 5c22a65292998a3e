/** References to characters that people write in Markdown. Others stay as they are. */
const named: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  copy: "©",
  reg: "®",
  trade: "™",
  hellip: "…",
  ndash: "–",
  mdash: "—",
  laquo: "«",
  raquo: "»",
  deg: "°",
  times: "×",
  micro: "µ",
  larr: "←",
  rarr: "→",
  euro: "€",
}

/** A text with its character references replaced, as CommonMark has it. */
export function decodeReferences(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(\w{2,8}));/g, (all, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return Object.hasOwn(named, name) ? String(named[name]) : all
    const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal)
    const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
    return isCharacter ? String.fromCodePoint(code) : "\ufffd"
  })
}

/**
 * The address of a link if following it cannot run script: another site, mail, or a page of this
 * service. Undefined for every other scheme.
 */
export function safeHref(href: string, base: string): string | undefined {
  try {
    const url = new URL(decodeReferences(href), base)
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined
  } catch {
    return undefined
  }
}
