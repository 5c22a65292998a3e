import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { silentLogger } from "#kit"
import { DirectoryHandle } from "../tree/directory-handle.ts"
import { canMove } from "../tree/move-entry.ts"
import { TreeDirectory } from "../tree/tree-directory.ts"
import { hasProjectQuotas, ProjectQuotas } from "./project-quotas.ts"

function folder(parent: string) {
  const path = mkdtempSync(join(parent, "quayside-projects-"))
  const handle = DirectoryHandle.open(path)
  return {
    path,
    handle,
    tree: TreeDirectory.of(handle, 1),
    [Symbol.dispose]() {
      handle[Symbol.dispose]()
      rmSync(path, { recursive: true })
    },
  }
}

test("project quotas are recognized by the mount's options on ext4 and XFS", () => {
  const ext4 = "32 31 7:0 / /srv rw,relatime shared:1 - ext4 /dev/sdb1 rw,prjquota"
  const xfs = "33 31 7:1 / /srv rw,relatime - xfs /dev/sdb1 rw,attr2,inode64,usrquota,prjquota"
  for (const line of [ext4, xfs]) assert.equal(hasProjectQuotas(line), true, line)
  for (const line of [ext4.replace(",prjquota", ",usrquota"), xfs.replace("prjquota", "pqnoenforce"), xfs.replace(" xfs ", " btrfs "), ""])
    assert.equal(hasProjectQuotas(line), false, line)
})

test("without project quotas files are only counted, and the log says why once", () => {
  using created = folder(tmpdir())
  const lines: [object, string][] = []
  const logger = { ...silentLogger, info: (fields: object, text: string) => void lines.push([fields, text]) }
  const settings = { minEntryBytes: 1_024 }
  assert.equal(ProjectQuotas.open(created.handle, { ...settings, firstProject: undefined }, logger), undefined)
  assert.deepEqual(lines.pop()?.[0], { reason: "they are switched off" })
  using memory = folder("/dev/shm")
  assert.equal(ProjectQuotas.open(memory.handle, { ...settings, firstProject: 1_000_000_000 }, logger), undefined)
  assert.match(JSON.stringify(lines), /the file system of the files root is not ext4 or XFS mounted with `prjquota`/)
  assert.equal(lines.length, 1)
})

test("an entry moves within a file system, and to another one it fails as a rename does", async () => {
  using from = folder(tmpdir())
  using beside = folder(tmpdir())
  using other = folder("/dev/shm")
  writeFileSync(join(from.path, "file"), "content")
  const entry = { parent: from.tree, name: "file" }
  assert.equal(await canMove(entry, beside.tree), true)
  assert.equal(await canMove(entry, other.tree), false)
  await assert.rejects(from.tree.rename("file", other.tree, "file"), { code: "EXDEV" })
  await from.tree.rename("file", beside.tree, "file")
  assert.ok((await beside.tree.lstat("file"))?.isFile())
})
