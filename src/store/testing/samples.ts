import { randomBytes } from "node:crypto"
import { unlimited } from "#contract"
import type { RunWrites } from "../repositories/run-types.ts"
import type { DataRow, GroupRow, ImageRow, ProjectRow, UserRow } from "../rows.ts"
import type { NewRow, Store } from "../store.ts"

export function userRow(userName: string, fields: Partial<NewRow<UserRow>> = {}): NewRow<UserRow> {
  return { userName, passwordHash: null, email: "", comment: "", isAdmin: false, isDisabled: false, limits: unlimited, ...fields }
}

export function groupRow(groupName: string, fields: Partial<NewRow<GroupRow>> = {}): NewRow<GroupRow> {
  return { groupName, comment: "", limits: unlimited, totalLimits: unlimited, ...fields }
}

export function imageRow(userId: number, fields: Partial<NewRow<ImageRow>> = {}): NewRow<ImageRow> {
  return {
    userId,
    name: "torch",
    image: "debian:bookworm",
    comment: "",
    command: "",
    env: "",
    port: "",
    isPublished: false,
    isTrusted: false,
    writablePaths: [],
    keepPresent: false,
    doc: "",
    writtenBy: userId,
    ...fields,
  }
}

export function dataRow(userId: number, fields: Partial<NewRow<DataRow>> = {}): NewRow<DataRow> {
  return { userId, type: "dir", name: "table", comment: "", doc: "", accessInfo: "/users/ann/table", isPublished: false, ...fields }
}

export function projectRow(userId: number, imageId: number, fields: Partial<NewRow<ProjectRow>> = {}): NewRow<ProjectRow> {
  return {
    userId,
    imageId,
    groupId: 0,
    projectName: "first steps",
    type: "jupyterlab",
    comment: "",
    doc: "",
    isPublic: false,
    isTrusted: false,
    userPath: "",
    codePath: "",
    modelPath: "",
    startMinutes: 0,
    idleMinutes: 0,
    maxRunHours: 0,
    writtenBy: userId,
    ...fields,
  }
}

type NewRun = Parameters<RunWrites["insert"]>[0]

export function runRow(userId: number, projectId: number, fields: Partial<NewRun> = {}): NewRun {
  return {
    key: randomBytes(16).toString("hex"),
    projectId,
    userId,
    state: "queued",
    wanted: "run",
    reason: null,
    progress: null,
    spec: {
      type: "http",
      image: "debian:bookworm",
      command: null,
      env: { A: "1" },
      port: 80,
      mounts: [],
      secret: "s",
      workDir: "/code",
      home: "/home",
    },
    nodes: 1,
    cpus: 1,
    memoryMiB: 512,
    gpus: 0,
    gpuMemoryMiB: 0,
    startTime: null,
    readyTime: null,
    endTime: null,
    lastActivity: null,
    idleEndsAt: null,
    expiresAt: null,
    nodeNames: [],
    gpuDevices: [],
    imageDigest: "",
    registryDigest: "",
    ...fields,
  }
}

export const addUser = (store: Store, userName: string) => store.change((tx) => tx.users.insert(userRow(userName)))
export const addImage = (store: Store, userId: number, fields?: Partial<NewRow<ImageRow>>) =>
  store.change((tx) => tx.images.insert(imageRow(userId, fields)))
export const addData = (store: Store, userId: number, fields?: Partial<NewRow<DataRow>>) =>
  store.change((tx) => tx.data.insert(dataRow(userId, fields)))
export const addProject = (store: Store, owner: { userId: number; imageId: number }, fields?: Partial<NewRow<ProjectRow>>) =>
  store.change((tx) => tx.projects.insert(projectRow(owner.userId, owner.imageId, fields)))
