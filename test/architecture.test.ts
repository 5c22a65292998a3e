// Checks the layout that ARCHITECTURE.md describes: which folder may import which, and through
// which index file.

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve, sep } from "node:path"
import { test } from "node:test"
import { importCycles } from "./fixtures/architecture/import-cycles.ts"
import { longFunctions } from "./fixtures/architecture/long-functions.ts"

const root = resolve(import.meta.dirname, "..")

/** A folder imports only from earlier ones. */
const order =
  "kit contract channel http client store leases engine events access runs images gateway files projects control api web cli main".split(
    " ",
  )
/** Folders that also run in a browser. */
const browserFolders = ["contract", "channel", "client", "web"]
/** Programs that another folder starts. The rules about signals in `main` apply to them. */
const programs = ["src/files/process/worker.ts"]

const maxEntries = 25
const maxFileLines = 400
const maxFunctionLines = 60
interface Source {
  path: string
  folder: string
  text: string
  imports: string[]
}

const tracked = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], { cwd: root, encoding: "utf8", maxBuffer: 1 << 26 })
  .split("\0")
  .filter((path) => path !== "" && existsSync(join(root, path)))
const sources = tracked.filter((path) => /\.[jt]sx?$/.test(path) && !path.endsWith(".d.ts")).map(read)
const inSrc = sources.filter(({ path }) => path.startsWith("src/"))
/**
 * The production code: every file reachable from index files and programs. All other files are
 * tests and their helpers.
 */
const product = reachable([
  "src/main/cli.ts",
  "src/main/packaged-cli.ts",
  "src/client/package-entry.ts",
  "src/web/app/main.tsx",
  ...programs,
  ...order.map((folder) => `src/${folder}/index.ts`),
])

function read(path: string): Source {
  const text = readFileSync(join(root, path), "utf8")
  const statement = /^(?:import\s(?:[^"\n]*\sfrom\s)?|export\s[^"\n]*\sfrom\s|\}\s*from\s)"([^"\n]+)"|\bimport\("([^"\n]+)"\)/gm
  const imports = [...text.matchAll(statement)].map((m) => m[1] ?? m[2] ?? "")
  return { path, folder: path.split("/")[1] ?? "", text, imports }
}

function reachable(entries: string[]): Source[] {
  const found = new Set<Source>()
  const queue = [...entries]
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const source = inSrc.find((each) => each.path === path)
    if (!source || found.has(source)) continue
    found.add(source)
    queue.push(
      ...source.imports.filter((name) => name.startsWith(".")).map((name) => relative(root, resolve(root, dirname(source.path), name))),
    )
  }
  return [...found]
}

/** Fails with all violations, one per line. */
function none(breaches: string[], rule: string): void {
  assert.equal(breaches.length, 0, `${rule}:\n${breaches.join("\n")}`)
}

/** One line for each match of a pattern in a file's code, without comment lines. */
function places(files: Source[], pattern: RegExp): string[] {
  return files.flatMap(({ path, text }) =>
    text
      .split("\n")
      .map((line, at) => ({ line, at }))
      .filter(({ line }) => !/^\s*(\/\/|\/?\*)/.test(line) && pattern.test(line))
      .map(({ line, at }) => `${path}:${at + 1} ${line.trim()}`),
  )
}

const breachesOf = (files: Source[], isBreach: (file: Source, name: string) => boolean) =>
  files.flatMap((file) => file.imports.filter((name) => isBreach(file, name)).map((name) => `${file.path} imports ${name}`))

test("every folder below src has its place in the order of imports", () => {
  const folders = readdirSync(join(root, "src"), { withFileTypes: true }).map(({ name }) => name)
  none(
    folders.filter((name) => !order.includes(name)),
    "Only these belong there",
  )
})

test("package.json names one door for each folder that has files, and no other", () => {
  const { imports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { imports: Record<string, string> }
  const folders = order.filter((folder) => inSrc.some((file) => file.folder === folder))
  const doors = folders.filter((folder) => existsSync(join(root, `src/${folder}/index.ts`)))
  assert.deepEqual(imports, Object.fromEntries(doors.map((folder) => [`#${folder}`, `./src/${folder}/index.ts`])))
  const needDoor = folders.filter((folder) => folder !== "main" && folder !== "cli" && folder !== "web")
  none(
    needDoor.filter((folder) => !doors.includes(folder)),
    "These have no index.ts",
  )
})

test("a folder imports other folders by their door only", () => {
  none(
    breachesOf(sources, (_, name) => name.startsWith("#") && !order.includes(name.slice(1))),
    "A door is # and a folder's name",
  )
})

test("a folder imports only from folders before it, and its tests from itself by its own door", () => {
  const rank = (file: Source, name: string) => order.indexOf(name.slice(1)) - order.indexOf(file.folder)
  none(
    breachesOf(inSrc, (file, name) => name.startsWith("#") && rank(file, name) >= (product.includes(file) ? 0 : 1)),
    `The order is ${order.join(", ")}`,
  )
})

test("no relative path leaves its folder, but for a test's way to the fixtures", () => {
  none(
    breachesOf(inSrc, (file, name) => {
      if (!name.startsWith(".")) return false
      const target = relative(root, resolve(root, dirname(file.path), name)).split(sep)
      const isFixture = target[0] === "test" && target[1] === "fixtures"
      return !(target[0] === "src" && target[1] === file.folder) && !(isFixture && !product.includes(file))
    }),
    "Other folders are reached by their door",
  )
})

test("tests, benchmarks and scripts reach into src by the doors only", () => {
  const outside = sources.filter(({ path }) => /^(test|bench|script)\//.test(path))
  none(
    breachesOf(outside, (_, name) => name.startsWith(".") && name.includes("/src/")),
    "Doors only",
  )
})

test("relative imports name the file with its ending", () => {
  none(
    breachesOf(sources, (_, name) => name.startsWith(".") && !/\.(tsx?|css|js|mjs|json)$/.test(name)),
    "Node resolves no endings",
  )
})

test("code for browsers does not import Node", () => {
  const files = product.filter(({ folder }) => browserFolders.includes(folder))
  none(
    breachesOf(files, (_, name) => name.startsWith("node:") || name === "#kit"),
    "Node's modules, also by way of kit",
  )
  none(places(files, /\b(process\.|Buffer\b|setImmediate\b|__dirname\b|import\.meta\.dirname)/), "Node's globals")
})

test("the web UI is a client of the API and knows nothing else of the service", () => {
  const doors = ["#contract", "#client", "#channel"]
  none(
    breachesOf(inSrc, (file, name) => file.folder === "web" && name.startsWith("#") && !doors.includes(name)),
    "The web UI imports #contract, #client and #channel only",
  )
})

test("Node's HTTP comes from http: importing it loads what a start has no time for", () => {
  const imports = /^import (?!type )[^"]*"node:https?"/m
  const breaches = product.filter(({ text }) => imports.test(text)).map(({ path }) => path)
  none(breaches, '`import { http } from "#http"` is wanted in')
})

test("the code of a role is loaded by processes with that role only", () => {
  const doors = (entry: string) => {
    const [found, queue] = [new Set<string>(), [entry]]
    const names = new Set<string>()
    for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
      const file = inSrc.find((each) => each.path === path)
      if (!file || found.has(path)) continue
      found.add(path)
      const atOnce = [...file.text.matchAll(/^(?:import|export) (?!type )[^"]*?from "([^"]+)"/gm)].map(([, name = ""]) => name)
      for (const name of atOnce) names.add(name)
      queue.push(...atOnce.filter((name) => name.startsWith(".")).map((name) => relative(root, resolve(root, dirname(file.path), name))))
    }
    return names
  }
  const roles = {
    files: ["#api", "#control", "#gateway", "#projects"],
    runs: ["#api", "#control", "#gateway"],
    servers: ["#api", "#control"],
  }
  none(
    Object.entries({ compose: ["#files", ...roles.files], ...roles }).flatMap(([name, others]) => {
      const loaded = doors(`src/main/compose/${name}.ts`)
      assert.ok(loaded.size > 3, name)
      return others.filter((door) => loaded.has(door)).map((door) => `src/main/compose/${name}.ts loads ${door}`)
    }),
    "Imported where the role is known: 12 MiB in each process of another role",
  )
})

test("only store speaks SQL", () => {
  const files = product.filter(({ folder }) => folder !== "store")
  none(
    breachesOf(files, (_, name) => /^(node:sqlite|kysely|pg|postgres|better-sqlite3)(\/|$)/.test(name)),
    "Databases belong to store",
  )
  none(
    places(files, /["'`]\s*(select\s.+\sfrom\s|insert\s+into\s|delete\s+from\s|update\s+\w+\s+set\s|create\s+(table|index)\s|pragma\s)/i),
    "Statements belong to store",
  )
})

test("only main reads the environment", () => {
  const files = product.filter(({ folder }) => folder !== "main")
  none(places(files, /\bprocess\.env\b|\benv\b.*from "node:process"/), "Settings are handed down from main")
})

test("only main installs signal handlers", () => {
  const files = product.filter(({ folder, path }) => folder !== "main" && !programs.includes(path))
  none(places(files, /\bprocess\.(on|once|addListener)\(\s*["'`](SIG|uncaught|unhandled)/), "Signals are main's")
})

test("only main ends the process", () => {
  const files = product.filter(({ folder, path }) => !["main", "cli"].includes(folder) && !programs.includes(path))
  none(places(files, /\bprocess\.(exit\(|abort\(|exitCode\s*=)/), "Others throw")
})

test("every npm package that src imports is a dependency", () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { dependencies: Record<string, string> }
  const packageOf = (name: string) =>
    name
      .split("/")
      .slice(0, name.startsWith("@") ? 2 : 1)
      .join("/")
  none(
    breachesOf(product, (_, name) => !/^(\.|#|node:)/.test(name) && !(packageOf(name) in dependencies)),
    "Not in package.json's dependencies",
  )
})

test("files of src import each other without a cycle, types included", () => {
  const targets = ({ path, imports }: Source) =>
    imports.flatMap((name) => {
      if (name.startsWith("#")) return [`src/${name.slice(1)}/index.ts`]
      return name.startsWith(".") ? [relative(root, resolve(root, dirname(path), name))] : []
    })
  const cycles = importCycles(new Map(inSrc.map((source) => [source.path, targets(source)])))
  none(
    cycles.map((files) => files.join(" <-> ")),
    "Import cycles",
  )
})

test(`a folder of src has at most ${maxEntries} entries`, () => {
  const entries = new Map<string, Set<string>>()
  for (const path of tracked.filter((each) => each.startsWith("src/"))) {
    const parts = path.split("/")
    for (let depth = 1; depth < parts.length; depth++) {
      const folder = parts.slice(0, depth).join("/")
      entries.set(folder, (entries.get(folder) ?? new Set()).add(parts[depth] ?? ""))
    }
  }
  const large = [...entries].filter(([, names]) => names.size > maxEntries)
  none(
    large.map(([path, names]) => `${path} has ${names.size}`),
    "Large folders",
  )
})

test(`a file of src has at most ${maxFileLines} lines, but for tables`, () => {
  const files = inSrc.filter(({ path }) => path !== "src/contract/table.ts")
  const lines = ({ text }: Source) => text.split("\n").length - 1
  const long = files.filter((file) => lines(file) > maxFileLines)
  none(
    long.map((file) => `${file.path} has ${lines(file)}`),
    "Long files",
  )
})

test(`a function has at most ${maxFunctionLines} lines`, () => {
  const projects = ["tsconfig.json", "src/web/tsconfig.json"]
  const long = projects.flatMap((project) => longFunctions(root, maxFunctionLines, project))
  none(
    long.map(({ path, name, lines }) => `${path} ${name} has ${lines}`),
    "Long functions",
  )
})

test("no file names the absolute path of this checkout", () => {
  none(mentions(new RegExp(`${escaped(root)}(?![\\w-])`)), "Absolute paths of this checkout")
})

function mentions(pattern: RegExp): string[] {
  return tracked.filter((path) => {
    const bytes = readFileSync(join(root, path))
    return !bytes.subarray(0, 8_000).includes(0) && pattern.test(bytes.toString("utf8"))
  })
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
}

test("every file that ARCHITECTURE.md names exists", () => {
  const text = readFileSync(join(root, "ARCHITECTURE.md"), "utf8")
  const missing = [...text.matchAll(/`(src\/[^`]+)`/g)].flatMap(([, path = ""]) => (existsSync(join(root, path)) ? [] : [path]))
  none(missing, "Files that do not exist")
})
