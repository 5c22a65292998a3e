import assert from "node:assert/strict"
import { after, test } from "node:test"
import { basicAuth } from "#client"
import { adminPassword, startTestServer } from "../test-server.ts"
import { type AnyObject, type SendOptions, sendRequest } from "./http-client.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { baseUrl } = server.quayside
const admin = basicAuth("admin", adminPassword)
const ann = await server.person("ann")
const bob = await server.person("bob")
const call = (method: string, path: string, options: SendOptions = {}) =>
  sendRequest(baseUrl, method, path, { as: ann.authorization, ...options })

const image = (fields: object = {}, who = ann) =>
  who.client.createImage({ body: { Name: "i", Image: "fake/http", Doc: "long", ...fields } })
const dataset = (Name: string, fields: object = {}, who = ann) => who.client.createData({ body: { Name, Doc: "long", ...fields } })
const first = await image()
const second = await image()
const third = await image()
const post = (body: object) => call("POST", "/project", { body: { ProjectName: "p", Type: "http", ...body } })
const put = (body: object) => call("PUT", "/project", { body })
const stored = (await post({ ImageID: first.ID })).body

test("a project's image is accepted as Image or ImageID and answered whole as both", async () => {
  for (const body of [
    { ImageID: first.ID },
    { Image: { ID: first.ID } },
    { Image: first },
    { Image: { ID: first.ID }, ImageID: first.ID },
  ]) {
    const { status, body: made } = await post(body)
    assert.equal(status, 200)
    const { Doc: _doc, ...whole } = first
    assert.deepEqual(made.Image, whole)
    assert.equal(made.ImageID, first.ID)
  }
})

test("if Image and ImageID differ, the one that differs from the stored value counts", async () => {
  const back = () => put({ ID: stored.ID, ImageID: first.ID })
  assert.equal((await put({ ID: stored.ID, Image: { ID: second.ID }, ImageID: first.ID })).body.ImageID, second.ID)
  await back()
  assert.equal((await put({ ID: stored.ID, Image: stored.Image, ImageID: second.ID })).body.ImageID, second.ID)
  await back()
  assert.equal((await put({ ID: stored.ID, Image: { ID: second.ID }, ImageID: 0 })).body.ImageID, second.ID)
  await back()
})

test("Image and ImageID that are both new and different are 400", async () => {
  const changed = await put({ ID: stored.ID, Image: { ID: second.ID }, ImageID: third.ID })
  assert.deepEqual([changed.status, changed.body.field], [400, "ImageID"])
  assert.equal((await post({ Image: { ID: second.ID }, ImageID: third.ID })).status, 400)
  assert.equal((await put({ ID: stored.ID, Image: { ID: second.ID }, ImageID: second.ID })).body.ImageID, second.ID)
})

test("a reference to a hidden, a missing or a deleted image is 400 in the same words", async () => {
  const hidden = await image({}, bob)
  const deleted = await image()
  await call("DELETE", `/image?ID=${deleted.ID}`)
  const messages = await Promise.all(
    [hidden.ID, 99_999, deleted.ID].map(async (ID) => {
      const answer = await post({ ImageID: ID })
      assert.deepEqual([answer.status, answer.body.field], [400, "ImageID"])
      return String(answer.body.msg).replace(String(ID), "N")
    }),
  )
  assert.equal(new Set(messages).size, 1)
  assert.equal((await post({ Image: { ID: hidden.ID } })).body.field, "Image")
  const hiddenData = await dataset("hidden", {}, bob)
  const [one, other] = await Promise.all([hiddenData.ID, 99_999].map((ID) => post({ ImageID: first.ID, TrainData: [{ ID }] })))
  assert.deepEqual([one?.status, one?.body.field, other?.status], [400, "TrainData", 400])
  assert.equal(String(one?.body.msg).replace(String(hiddenData.ID), "N"), String(other?.body.msg).replace("99999", "N"))
})

test("TrainData items are accepted as datasets, with a mount path, or as links, and answered as links", async () => {
  const [a, b, c] = [await dataset("a"), await dataset("b"), await dataset("c")]
  const { body } = await post({
    ImageID: first.ID,
    TrainData: [a, { ID: b.ID, MountPath: "/mnt/b" }, { Data: { ID: c.ID }, MountPath: "/mnt/c", ProjectID: 5 }],
  })
  const { Doc: _doc, ...whole } = a
  assert.deepEqual(body.TrainData, [
    { ProjectID: body.ID, Data: whole, MountPath: "/work/data/a" },
    { ProjectID: body.ID, Data: { ...withoutDoc(b) }, MountPath: "/mnt/b" },
    { ProjectID: body.ID, Data: { ...withoutDoc(c) }, MountPath: "/mnt/c" },
  ])
  const response = await put({ ID: body.ID, TrainData: [{ ID: c.ID }, { ID: b.ID }] })
  assert.deepEqual(mountPaths(response.body), ["/mnt/c", "/mnt/b"], "an absent mount path stays")
  assert.deepEqual(mountPaths((await put({ ID: body.ID, TrainData: [{ ID: b.ID, MountPath: "" }] })).body), ["/work/data/b"])
  assert.deepEqual(mountPaths((await put({ ID: body.ID, TrainData: [] })).body), [])
})

function withoutDoc({ Doc: _doc, ...rest }: { Doc: string }) {
  return rest
}

function mountPaths(project: AnyObject): string[] {
  return (project.TrainData as unknown as { MountPath: string }[]).map(({ MountPath }) => MountPath)
}

test("mount paths are absolute, distinct and not over system directories; one inside another is fine", async () => {
  const [a, b] = [await dataset("one"), await dataset("two")]
  const refused = async (body: object, field: string) => {
    const answer = await post({ ImageID: first.ID, ...body })
    assert.deepEqual([JSON.stringify(body), answer.status, answer.body.field], [JSON.stringify(body), 400, field])
  }
  for (const bad of [
    "relative",
    "/",
    "/a/../b",
    "/a/./b",
    "/a//b",
    "/proc",
    "/proc/x",
    "/etc/x",
    "/usr/bin/x",
    "/dev",
    "/tmp",
    "/a\u0007b",
    `/${"x".repeat(256)}`,
  ]) {
    for (const field of ["UserPath", "CodePath", "ModelPath"]) await refused({ [field]: bad }, field)
    await refused({ TrainData: [{ ID: a.ID, MountPath: bad }] }, "TrainData")
  }
  await refused({ UserPath: "/mnt/x", CodePath: "/mnt/x/" }, "CodePath")
  await refused({ ModelPath: "/work/code" }, "ModelPath")
  await refused({ TrainData: [{ ID: a.ID, MountPath: "/work/code" }] }, "TrainData")
  await refused(
    {
      TrainData: [
        { ID: a.ID, MountPath: "/x" },
        { ID: b.ID, MountPath: "/x" },
      ],
    },
    "TrainData",
  )
  await refused({ TrainData: [{ ID: a.ID }, { ID: a.ID, MountPath: "/y" }] }, "TrainData")
  const nested = await post({ ImageID: first.ID, CodePath: "/home/me", TrainData: [{ ID: a.ID, MountPath: "/home/me/data" }] })
  assert.equal(nested.status, 200)
})

test("datasets of the same name get places of their own", async () => {
  const [a, b, c] = [await dataset("Same Name"), await dataset("same name"), await dataset("…")]
  const { body } = await post({ ImageID: first.ID, TrainData: [a, b, c].map(({ ID }) => ({ ID })) })
  assert.deepEqual(mountPaths(body), ["/work/data/same-name", "/work/data/same-name-2", `/work/data/data-${c.ID}`])
})

test("a project has at most 64 datasets", async () => {
  const many = await Promise.all(Array.from({ length: 65 }, (_, i) => dataset(`d${i}`)))
  const all = many.map(({ ID }) => ({ ID }))
  const refused = await post({ ImageID: first.ID, TrainData: all })
  assert.deepEqual([refused.status, refused.body.field], [400, "TrainData"])
  assert.equal(mountPaths((await post({ ImageID: first.ID, TrainData: all.slice(1) })).body).length, 64)
})

test("a dataset's Password is accepted, never stored and never answered", async () => {
  const response = await call("POST", "/data", { body: { Name: "p", Password: "hunter2" } })
  assert.equal(response.status, 200)
  for (const text of [
    response.text,
    (await call("GET", "/data")).text,
    (await call("PUT", "/data", { body: { ID: response.body.ID, Password: "hunter2" } })).text,
  ])
    assert.ok(!text.includes("hunter2") && !text.includes("Password"))
})

test("a part that the caller may not see is answered as its ID alone, and accepted back", async () => {
  const secret = await image({ Env: "KEY=secret", IsPublished: true })
  const data = await dataset("later hidden", { IsPublished: true })
  const bobs = await call("POST", "/project", {
    as: bob.authorization,
    body: { ProjectName: "b", Type: "http", ImageID: secret.ID, TrainData: [{ ID: data.ID }] },
  })
  await call("PUT", "/image", { body: { ID: secret.ID, IsPublished: false } })
  await call("PUT", "/data", { body: { ID: data.ID, IsPublished: false } })
  const read = await call("GET", `/project?ID=${bobs.body.ID}`, { as: bob.authorization })
  assert.deepEqual([read.body.Image, read.body.ImageID], [{ ID: secret.ID }, secret.ID])
  assert.deepEqual(read.body.TrainData, [{ ProjectID: bobs.body.ID, Data: { ID: data.ID }, MountPath: "/work/data/later-hidden" }])
  assert.ok(!read.text.includes("secret"))
  const back = await call("PUT", "/project", { as: bob.authorization, body: read.body })
  assert.equal(back.status, 200)
  assert.deepEqual({ ...back.body, UpdatedAt: read.body.UpdatedAt }, read.body)
})

test("PUT accepts the body that GET returned, even if a part was deleted meanwhile", async () => {
  const part = await image()
  const data = await dataset("part")
  const created = (await post({ ImageID: part.ID, TrainData: [{ ID: data.ID }] })).body
  await call("DELETE", `/image?ID=${part.ID}`)
  await call("DELETE", `/data?ID=${data.ID}`)
  const { body } = await call("GET", `/project?ID=${created.ID}`)
  assert.notEqual((body.Image as AnyObject).DeletedAt, null, "a deleted part is shown whole, with DeletedAt")
  assert.equal((body.Image as AnyObject).Name, part.Name)
  const earlier = { ...body, TrainData: [{ ID: data.ID }], Image: undefined }
  for (const shape of [body, earlier]) {
    const back = await put(shape)
    assert.equal(back.status, 200)
    assert.deepEqual({ ...back.body, UpdatedAt: body.UpdatedAt }, body)
  }
  for (const [path, plural] of [
    ["/image", "/images"],
    ["/data", "/data"],
    ["/project", "/projects"],
  ] as const) {
    const one = (await call("GET", plural)).body.data as unknown as AnyObject[]
    for (const object of one.slice(0, 5)) assert.equal((await call("PUT", path, { body: object })).status, 200)
  }
  const group = await server.admin.createGroup({ body: { GroupName: "g", Members: ["ann"], Limits: { MaxRuns: 3 } } })
  assert.equal((await call("PUT", "/group", { as: admin, body: group })).status, 200)
  const account = (await call("GET", "/user?UserName=ann")).body
  assert.equal((await call("PUT", "/user", { body: account })).status, 200)
  assert.equal((await call("PUT", "/user", { as: admin, body: account })).status, 200)
})

test("a copy belongs to the copier, keeps its references as they are and is neither published nor trusted", async () => {
  const hidden = await dataset("hidden from bob")
  const limits = { StartMinutes: 3, IdleMinutes: 50, MaxRunHours: 7 }
  const paths = { UserPath: "/work/own", CodePath: "/src", ModelPath: "/work/models" }
  const body = {
    ImageID: first.ID,
    TrainData: [{ ID: hidden.ID, MountPath: "/d" }],
    IsPublic: true,
    Comment: "c",
    Doc: "d",
    ...limits,
    ...paths,
  }
  const created = (await post(body)).body
  assert.equal((await call("PUT", "/project", { as: admin, body: { ID: created.ID, IsTrusted: true } })).status, 200)
  const copy = await call("POST", `/project/copy?ID=${created.ID}`, { as: bob.authorization })
  assert.equal(copy.status, 200)
  const { ID, CreatedAt, UpdatedAt, Image, TrainData, ...fields } = copy.body
  const { ID: _id, CreatedAt: _created, UpdatedAt: _updated, Image: _image, TrainData: _data, Warnings: _warnings, ...original } = created
  assert.deepEqual(fields, { ...original, UserName: "bob", IsPublic: false })
  assert.equal(Image?.ID, first.ID)
  assert.deepEqual(TrainData, [{ ProjectID: copy.body.ID, Data: { ID: hidden.ID }, MountPath: "/d" }])
  assert.equal((await call("POST", `/project/copy?ID=${stored.ID}`, { as: bob.authorization })).status, 404)
})
