import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"

export interface PageContent {
  title: string
  text: string
  link?: { href: string; text: string }
  /** The page reloads after this many seconds, by the header `Refresh`. */
  refreshSeconds?: number
}

/** The look of the web UI, whose files another origin serves. */
const icon = readFileSync(new URL("../web/icon.svg", import.meta.url), "utf8").trim()
const style = [
  ":root{color-scheme:light dark}",
  "body{margin:0;min-height:100vh;background:light-dark(#f7f8f9,#0e1214);color:light-dark(#14191d,#e8edf0);font:14px/1.55 system-ui,sans-serif}",
  "main{box-sizing:border-box;width:min(26rem,calc(100vw - 2rem));margin:14vh auto 0;padding:1.75rem;overflow-wrap:anywhere;background:light-dark(#fff,#151a1d);border:1px solid light-dark(#e2e6e9,#262e33);border-radius:10px}",
  ".brand{display:flex;align-items:center;gap:.55rem;margin:0 0 1rem;font-weight:650}.brand span{display:flex}.brand svg{width:1.4rem;height:1.4rem}p:last-child{margin-bottom:0}",
  "h1{margin:0 0 .75rem;font-size:1.25rem;line-height:1.25}",
  "a{color:light-dark(#0b5d7a,#63bcd8)}",
].join("")

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ")

/**
 * The headers of each response of the gateway itself: no caching, no scripts, no referrer, and no
 * opener.
 */
export const gatewayResponseHeaders = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": policy,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
} as const

export function renderPage({ title, text, link }: PageContent): string {
  const anchor =
    link === undefined ? "" : `<p><a href="${escapeHtml(link.href)}" target="_top" rel="noreferrer">${escapeHtml(link.text)}</a></p>\n`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
<main>
<p class="brand"><span aria-hidden="true">${icon}</span>Quayside</p>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(text)}</p>
${anchor}</main>
</html>
`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
}
