import { execFileSync, spawnSync } from "node:child_process"
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

/** A copy of the working tree, for tests that run in it. */
export interface TreeCopy extends Disposable {
  readonly path: string
  /** The directory for temporary files of the tests. */
  readonly temporary: string
  /** Removes temporary files and unmounts what the tests mounted there. */
  tidy(): void
}

/** Copies the files that git does not ignore, and links to the original's packages. */
export function copyTree(root: string): TreeCopy {
  const path = mkdtempSync(join(tmpdir(), "quayside-mutants-"))
  const temporary = join(path, "tmp")
  // Some tests start the server as another user.
  chmodSync(path, 0o755)
  const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], { cwd: root, encoding: "utf8" }).split("\0")
  for (const file of files.filter((name) => name !== "" && !name.startsWith("images/"))) {
    mkdirSync(dirname(join(path, file)), { recursive: true })
    cpSync(join(root, file), join(path, file), { force: true })
  }
  symlinkSync(join(root, "node_modules"), join(path, "node_modules"))
  mkdirSync(temporary)
  // The layout's test lists the files with git.
  execFileSync("git", ["init", "--quiet", path])
  writeFileSync(join(path, ".git/info/exclude"), "/node_modules\n/tmp\n")
  return {
    path,
    temporary,
    tidy() {
      unmountBelow(temporary)
      rmSync(temporary, { recursive: true, force: true, maxRetries: 3 })
      // A process that ends only now may have made it again.
      mkdirSync(temporary, { recursive: true })
    },
    [Symbol.dispose]() {
      unmountBelow(path)
      rmSync(path, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

/** Stopped tests leave mounts behind, and a folder with mounts cannot be removed. */
function unmountBelow(folder: string): void {
  const places = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => (line.split(" ")[4] ?? "").replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8))))
    .filter((place) => place.startsWith(`${folder}/`))
  for (const place of places.reverse()) spawnSync("umount", ["--lazy", place])
}
