import { createHash } from "node:crypto"

export interface PageContent {
  title: string
  text: string
  link?: { href: string; text: string }
  /** The page reloads after this many seconds. */
  refreshSeconds?: number
}

const style = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{margin:0;display:grid;place-items:center;min-height:90vh}main{max-width:34rem;padding:1.5rem}h1{font-size:1.35rem}`

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

export function renderPage({ title, text, link, refreshSeconds }: PageContent): string {
  const refresh = refreshSeconds === undefined ? "" : `<meta http-equiv="refresh" content="${refreshSeconds}">\n`
  const anchor =
    link === undefined ? "" : `<p><a href="${escapeHtml(link.href)}" target="_top" rel="noreferrer">${escapeHtml(link.text)}</a></p>\n`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
${refresh}<title>${escapeHtml(title)}</title>
<style>${style}</style>
<main>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(text)}</p>
${anchor}</main>
</html>
`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
}
