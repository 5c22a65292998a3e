import assert from "node:assert/strict"
import { test } from "node:test"
import { specOf } from "../../../../test/fixtures/run-spec.ts"
import { imageVolumes } from "./image-volumes.ts"
import { podManifest } from "./pod-manifest.ts"

test("the volumes of an image are volumes of its pod, once each, unless the run mounts something there", () => {
  const mounts = [{ source: "/users/ann", target: "/data", readOnly: false }]
  const spec = specOf({ image: "tiny", mounts, writablePaths: ["/var/cache"] })
  const volumes = imageVolumes(spec, { volumes: ["/data", "/var/cache/", "/dev/shm", "/etc/hosts", "/db", "db/", "/data/inner"] })
  assert.deepEqual(volumes, ["/db", "/data/inner"])
  const parts = { spec, rank: 0, image: "tiny", isPreloaded: false, internet: "common", hasCredentials: false, volumes }
  const options = { instance: "test", filesRoot: "/files", volume: "files", uid: 1000 }
  const { volumes: made = [], containers = [] } = podManifest({ options, uid: 1000, gid: 1000 }, parts).spec ?? {}
  const mountsOf = (path: string) => containers[0]?.volumeMounts?.filter(({ mountPath }) => mountPath === path).map(({ name }) => name)
  const counted = made.filter(({ name, emptyDir }) => name.startsWith("image-volume-") && emptyDir?.medium === undefined)
  assert.deepEqual(
    [...(mountsOf("/db") ?? []), ...(mountsOf("/data/inner") ?? [])],
    counted.map(({ name }) => name),
  )
})

test("an image with a volume at which nothing can be mounted is refused, naming it", () => {
  for (const path of ["/", "/proc/self/fd/7", "/sys", "/dev", "/a:b"])
    assert.throws(
      () => imageVolumes(specOf({ image: "tiny" }), { volumes: ["/data", path] }),
      { code: "image_unavailable", message: / at / },
      path,
    )
})
