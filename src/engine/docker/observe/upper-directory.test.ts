import assert from "node:assert/strict"
import { test } from "node:test"
import { upperOfRoot } from "./upper-directory.ts"

const overlay = "rw,lowerdir=/d/l/A:/d/l/B,upperdir=/d/c/diff,workdir=/d/c/work,nouserxattr"

test("the directory that a container writes to is that of its root, in any place among the mounts", () => {
  const other = "513 512 0:60 / /data rw - overlay overlay rw,lowerdir=/x,upperdir=/other,workdir=/y"
  assert.equal(upperOfRoot(`${other}\n512 511 0:59 / / ro,relatime master:1 - overlay overlay ${overlay}\n`), "/d/c/diff")
  assert.equal(upperOfRoot(other), undefined)
  assert.equal(upperOfRoot("512 511 0:59 / / ro,relatime - btrfs /dev/sda rw,subvol=/x"), undefined)
  assert.equal(upperOfRoot(""), undefined)
})
