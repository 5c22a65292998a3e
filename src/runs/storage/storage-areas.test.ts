import assert from "node:assert/strict"
import { test } from "node:test"
import { testLinear } from "../../../test/fixtures/linear.ts"
import { divideAreas, reachesAny } from "./storage-areas.ts"

test("a directory below another one of the same person is counted with it, unless somebody else's lies around it", () => {
  const own = new Set(["/users/a", "/users/a/x", "/users/a/x/y", "/users/a/theirs/z", "/shared/s", "/shared/s/t", "/both", "/both/c"])
  assert.deepEqual(divideAreas(own, ["/users/a/theirs", "/both", "/elsewhere", "/users/b"]), {
    roots: ["/users/a", "/users/a/theirs/z", "/shared/s", "/both"],
    excluded: ["/users/a/theirs"],
    subAreas: ["/users/a/x", "/users/a/x/y", "/shared/s/t", "/both/c"],
  })
  assert.deepEqual(divideAreas(new Set(["/", "/a"]), ["/b"]), { roots: ["/"], excluded: ["/b"], subAreas: ["/a"] })
})

test("a mounted directory reaches the areas below it and the one that it lies in, but none beyond a boundary", () => {
  const areas = ["/users/a", "/users/a/data", "/users/a/theirs/mine", "/shared"]
  const reaches = reachesAny({ areas, boundaries: new Set([...areas, "/users/a/theirs"]) })
  const within = ["/users/a", "/users/a/x", "/users/a/x/y", "/users/a/data/x", "/shared/x/y", "/users/a/theirs/mine/x"]
  const around = ["/users", "/users/a/theirs"]
  const outside = ["/users/a/theirs/x", "/users/ab", "/users/b/x", "/sharedx", "/other", "/projects/1"]
  assert.deepEqual([...within, ...around, ...outside].filter(reaches), [...within, ...around])
})

const directories = (part: string) => (length: number) => Array.from({ length: length / 20 }, (_, i) => `${part}/${i}`).join("\n")
testLinear([
  {
    name: "a person's directories",
    parse: (text) => divideAreas(new Set(["/users/a", ...text.split("\n")]), text.split("\n")),
    size: 200_000,
    shapes: [directories("/users/a/datasets"), directories("/shared"), directories(`/users/a${"/b".repeat(50)}`)],
  },
  {
    name: "the directories that runs mount, beside as many of a person",
    parse: (text) => {
      const areas = text.split("\n")
      return areas.map((area) => area.replace("/a", "/b")).filter(reachesAny({ areas, boundaries: new Set(areas) }))
    },
    size: 40_000,
    shapes: [directories("/users/a/projects"), directories(`/users/a${"/c".repeat(50)}`)],
  },
])
