import { readFile } from "node:fs/promises"
import { Failure, type Whoami } from "#contract"
import type { Services } from "../context.ts"
import { toWhoami } from "../responses/whoami.ts"
import { escapeHtml } from "./html.ts"
import {
  contentSecurityPolicy,
  forSignedIn,
  messagePage,
  type PageHandler,
  type PageRequest,
  type PageResponse,
  securityHeaders,
} from "./page.ts"

/** The build of src/web: one page, and its assets with hashes in their names. */
const build = new URL("../../../dist/web/", import.meta.url)

const notBuilt = messagePage(503, {
  title: "The web UI is not built",
  text: "The server works, but its pages were not built. An administrator runs script/start, or node script/build-web.ts, and then loads this page again.",
  link: { href: "/docs", text: "HTTP API" },
})

/**
 * Beside the policy of all pages: no text becomes markup or code. Pages list, send and download
 * files at the files address, and show images and PDFs of it, which they read as blobs. A blob has
 * the policy of its page.
 */
function appHeaders({ settings }: Services) {
  const files = new URL(settings.filesUrl).origin
  const policy = contentSecurityPolicy
    .replace("connect-src 'self'", `connect-src 'self' ${files}`)
    .replace("form-action 'self'", `form-action 'self' ${files}`)
    .replace("img-src 'self' data:", "img-src 'self' data: blob:")
    .concat("; frame-src blob:")
  return {
    ...securityHeaders,
    "content-security-policy": `${policy}; require-trusted-types-for 'script'; trusted-types 'none'`,
    "content-type": "text/html; charset=utf-8",
  }
}

/** The person who is signed in, and the last event before that was read. */
interface SignedIn {
  person: Whoami
  lastEvent: string
}

/** The one page of the web UI. It is read each time, so that a new build needs no restart. */
async function makePage(services: Services, signedIn: SignedIn | null): Promise<PageResponse> {
  const page = await readBuild("index.html")
  if (!page) return notBuilt
  const facts = JSON.stringify({ ...installationOf(services), signedIn })
  const about = `<meta name="quayside" content="${escapeHtml(facts)}">`
  return { status: 200, headers: appHeaders(services), body: page.toString().replace("<!-- installation -->", () => about) }
}

export const appPage: PageHandler = (services) => makePage(services, null)

/** The same facts as `/openapi.json` and the settings tell, for the first drawing of the page. */
function installationOf({ settings, openId }: Services) {
  const { version, memoryUnit, baseUrl, filesUrl } = settings
  return { version, memoryUnit, baseUrl, filesUrl, openId: openId ? { name: openId.name, href: `${baseUrl}/oidc/login` } : null }
}

export const signedInPage = forSignedIn(async (services, _request, caller) => {
  // The number comes first: the page receives every later event, and so misses no change.
  const { last } = await services.store.events.bounds()
  return makePage(services, { person: await toWhoami(services, caller), lastEvent: String(last) })
})

const assetTypes: Readonly<Record<string, string>> = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8" }
const encodings = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const
/** By file name. Only files of a build enter, which are few. */
const assets = new Map<string, Buffer>()

/** A file of the build. Its name changes with its content, so browsers keep it. */
export const assetPage: PageHandler = async (_services, request) => {
  const name = request.path.slice("/ui/assets/".length)
  const type = /^[\w-]{1,100}\.(js|css)$/.exec(name)?.[1]
  const [encoding, suffix] = encodings.find(([each]) => accepts(request, each)) ?? []
  const body = type && (await readAsset(`${name}${suffix ?? ""}`))
  if (!type || !body) throw new Failure("not_found", "There is no such file of the web UI; load the page again")
  return {
    status: 200,
    headers: {
      "content-type": assetTypes[type] as string,
      vary: "accept-encoding",
      ...(encoding ? { "content-encoding": encoding } : {}),
    },
    cacheControl: "public, max-age=31536000, immutable",
    body,
  }
}

function accepts({ acceptEncoding }: PageRequest, encoding: string): boolean {
  return acceptEncoding.split(",").some((part) => {
    const [name, quality] = part.trim().split(/\s*;\s*q=/)
    return name === encoding && Number(quality ?? 1) > 0
  })
}

async function readAsset(name: string): Promise<Buffer | undefined> {
  const bytes = assets.get(name) ?? (await readBuild(`assets/${name}`))
  if (bytes) assets.set(name, bytes)
  return bytes
}

/** Undefined if the build has no such file, or there is no build. */
async function readBuild(name: string): Promise<Buffer | undefined> {
  try {
    return await readFile(new URL(name, build))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
}
