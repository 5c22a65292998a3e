import assert from "node:assert/strict"
import { test } from "node:test"
import { emptyProject, imageNameFromReference, projectBody, projectPartName } from "./project-draft.ts"

test("a body names image and datasets by ID, and leaves out empty mount paths", () => {
  const TrainData = [
    { ID: 3, Name: "a", MountPath: " /data/a " },
    { ID: 4, Name: "b", MountPath: "" },
  ]
  assert.deepEqual(projectBody({ Comment: "c", Image: { ID: 7, Name: "x" }, TrainData }), {
    Comment: "c",
    ImageID: 7,
    TrainData: [{ ID: 3, MountPath: "/data/a" }, { ID: 4 }],
  })
  assert.equal("ImageID" in projectBody(emptyProject), false)
  assert.deepEqual(projectBody({ TrainData: [] }), { TrainData: [] })
})

test("a part that the reader may not see is named by its ID", () => {
  assert.equal(
    projectPartName({ ID: 5 }, (id) => `Dataset ${id}`),
    "Dataset 5",
  )
  assert.equal(projectPartName({ ID: 5, Name: "" }, String), "")
})

test("an image is named by the last part of its reference", () => {
  assert.equal(imageNameFromReference("registry.example:5000/team/lab:2"), "lab")
  assert.equal(imageNameFromReference("lab@sha256:00"), "lab")
  assert.equal(imageNameFromReference(""), "")
})
