import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { basicAuth, createClient } from "#client"
import type { ProjectType, RunningProject } from "#contract"
import { eventually } from "../fixtures/eventually.ts"
import { type ServerProcess, startServerProcess } from "../server-process.ts"
import { freshContext, openBrowser, signIn } from "./browser.ts"

const run = promisify(execFile)
/** Directory of the documentation's screenshots, written on request only. */
const pictures = process.env.PICTURES_DIR

export interface ProjectToOpen {
  /** An image of `images/` or `test/fixtures/images/`. */
  image: string
  type: ProjectType
  /** Files of the project's code, put there before its first start. */
  files?: Readonly<Record<string, string | Uint8Array>>
  memoryMiB?: number
  idleMinutes?: number
  userPath?: string
  imageFields?: { Command?: string; Env?: string; Port?: string; WritablePaths?: string[] }
}

/** A run whose page is open in a browser in which the administrator is signed in. */
export interface OpenedRun {
  readonly page: Page
  readonly context: BrowserContext
  readonly run: RunningProject
  /** The WebDAV address of the project's code, without a slash at its end. */
  readonly codeUrl: string
  readonly headers: { authorization: string }
  /** The text of a file of the code, once it is there. */
  textOfFile(name: string): Promise<string>
  /** When somebody used the run last. */
  lastActivity(): Promise<string | null>
}

/** A server with real Docker, and a browser. */
export class BrowserServer implements AsyncDisposable {
  readonly server: ServerProcess
  readonly browser: Browser & AsyncDisposable
  readonly client: ReturnType<typeof createClient>
  readonly #headers: { authorization: string }

  private constructor(server: ServerProcess, browser: Browser & AsyncDisposable) {
    this.server = server
    this.browser = browser
    this.#headers = { authorization: basicAuth("admin", server.password) }
    this.client = createClient({ baseUrl: server.baseUrl, authorization: this.#headers.authorization })
  }

  /** `browserArguments`: further ones for Chromium, when the server's addresses are known. */
  static async start(browserArguments: (server: ServerProcess) => Promise<string[]> = async () => []): Promise<BrowserServer> {
    const server = await startServerProcess()
    return new BrowserServer(server, await openBrowser(await browserArguments(server)))
  }

  /** Starts a new project, opens its URL, and stops the run after `look`. */
  async withRun(project: ProjectToOpen, look: (opened: OpenedRun) => Promise<void>): Promise<void> {
    const Image = await buildImage(project.image)
    const image = await this.client.createImage({ body: { Name: project.image, Image, ...project.imageFields } })
    const name = `${project.type} of ${project.image}`
    // A start that hangs fails with its reason before the test ends without one.
    const fields = {
      ProjectName: name,
      Type: project.type,
      UserPath: project.userPath ?? "",
      StartMinutes: 1,
      IdleMinutes: project.idleMinutes ?? 0,
    }
    const { ID } = await this.client.createProject({ body: { ...fields, ImageID: image.ID } })
    const codeUrl = `${this.server.filesUrl}/users/admin/projects/${ID}/code`
    const files = Object.entries(project.files ?? {})
    const above = files.length > 0 ? ["/users/admin/projects", `/users/admin/projects/${ID}`, `/users/admin/projects/${ID}/code`] : []
    for (const path of above) await fetch(`${this.server.filesUrl}${path}`, { method: "MKCOL", headers: this.#headers })
    for (const [path, body] of files) {
      const put = await fetch(`${codeUrl}/${path}`, { method: "PUT", headers: this.#headers, body: body as BodyInit })
      assert.equal(put.status, 201, await put.text())
    }
    try {
      await look(await this.#open(ID, codeUrl, project))
    } catch (error) {
      const pages = this.browser.contexts().flatMap((context) => context.pages())
      throw new Error(`The pages show:\n${(await Promise.all(pages.map(textOf))).join("\n")}`, { cause: error })
    } finally {
      await Promise.all(this.browser.contexts().map((context) => context.close()))
      await this.client.stopRun({ query: { ProjectID: ID } })
    }
  }

  async #open(ProjectID: number, codeUrl: string, project: ProjectToOpen): Promise<OpenedRun> {
    const headers = this.#headers
    const run = await this.client.startRun({ body: { ProjectID, Memory: project.memoryMiB ?? 2_048 } })
    assert.equal(run.State, "ready", JSON.stringify(run.Reason))
    const context = await freshContext(this.browser)
    const page = await context.newPage()
    await page.goto(run.URL)
    await signIn(page, this.server.password)
    await page.waitForURL((url) => url.origin !== this.server.baseUrl, { waitUntil: "commit" })
    return {
      page,
      context,
      run,
      codeUrl,
      headers,
      textOfFile: async (name) => {
        let text = ""
        const isWritten = async () => {
          const response = await fetch(`${codeUrl}/${name}`, { headers })
          text = await response.text()
          return response.ok && text !== ""
        }
        await eventually(`the program has written ${name}`, isWritten, 120_000)
        return text
      },
      lastActivity: async () => (await this.client.readRun({ query: { ID: run.ID } })).LastActivity,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser[Symbol.asyncDispose]()
    await this.server[Symbol.asyncDispose]()
  }
}

/** The address of a page and the beginning of its text. */
async function textOf(page: Page): Promise<string> {
  const text = await page.locator("body").ariaSnapshot({ timeout: 5_000 }).catch(String)
  return `${page.url()}: ${text.slice(0, 1_000)}`
}

/** Builds an image if it is missing or older than its files; returns its name. */
async function buildImage(name: string): Promise<string> {
  const script = fileURLToPath(new URL("../../script/images", import.meta.url))
  const { stdout } = await run(script, [name], { timeout: 900_000 })
  return /^(\S+) is up to date$/m.exec(stdout)?.[1] ?? assert.fail(stdout)
}

/** Writes a screenshot for the documentation if that was asked for. */
export async function takePicture(page: Page, name: string): Promise<void> {
  if (!pictures) return
  await page.setViewportSize({ width: 1000, height: 640 })
  // Pages draw their new size a moment later.
  await page.waitForTimeout(2_000)
  await page.screenshot({ path: join(pictures, name) })
}
