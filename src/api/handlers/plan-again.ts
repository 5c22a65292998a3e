import { randomBytes } from "node:crypto"
import { type Caller, decide, homeOf, imageThing, mountsOf } from "#access"
import { normalPath, type Reason } from "#contract"
import type { DataRow, ImageRow, ProjectRow, Reads, RunPlan, RunRow } from "#store"
import { authorsAgain, authorsOf } from "./authors.ts"
import { projectDirectories } from "./code.ts"
import { withheldHome } from "./home.ts"
import { isByAdmin } from "./image-contents.ts"
import type { Plan } from "./plan.ts"

type Readable = Pick<Reads, "images" | "data" | "users" | "grants">
type Mount = RunPlan["mounts"][number]

interface Again {
  starter: Caller
  project: ProjectRow
  run: RunRow
}

/** A run's own plan once more, as far as its person may still use what it had: what they may only read now is mounted so, what they may not use is the run's reason. */
export async function planAgain(reads: Readable, again: Again): Promise<Plan> {
  const { starter, run } = again
  const image = await imageOf(reads, again)
  const usable = image !== undefined && (await decide(reads, starter, "image:use", imageThing(image))) === "yes"
  const mounts = await Promise.all(run.spec.mounts.map((mount) => mountAgain(reads, again, { mount, image })))
  const { internetOf: _, imageDigest, ...spec } = run.spec
  const digest = run.imageDigest || imageDigest
  const plan: RunPlan = {
    ...spec,
    authors: await authorsNow(reads, again, image),
    ...(digest === undefined ? {} : { imageDigest: digest }),
    // An administrator vouches for what stands there now, not for what stood there once.
    imageByAdmin: image !== undefined && image.image === spec.image && (await isByAdmin(reads, image)),
    mounts: mounts.filter((mount) => "target" in mount),
    secret: randomBytes(32).toString("base64url"),
  }
  const refusal = usable ? mounts.find((mount) => "code" in mount) : unavailable(again)
  return { plan, refusal }
}

async function authorsNow(reads: Readable, { starter, project, run }: Again, image: ImageRow | undefined): Promise<string> {
  const data: DataRow[] = []
  for (const { source } of run.spec.mounts) data.push(...(await reads.data.overlapping(source)))
  return authorsAgain(project.id, run.spec.authors, await authorsOf(reads, { starter, project, image, data }))
}

/** Plans of earlier versions do not name their image: then it is the project's, if that is still the same. */
async function imageOf(reads: Readable, { project, run }: Again): Promise<ImageRow | undefined> {
  const { image, imageId } = run.spec
  const found = await reads.images.get(imageId ?? project.imageId)
  return imageId === undefined && found?.image !== image ? undefined : found
}

function unavailable({ starter, run }: Again): Reason {
  return {
    code: "image_unavailable",
    msg: `The image ${run.spec.image} that the run had was deleted, or ${starter.userName} may not use it`,
  }
}

/** The starter's own directories stay theirs; all else is a dataset, found by its directory and judged by the rights of now. */
async function mountAgain(
  reads: Readable,
  { starter, project }: Again,
  had: { mount: Mount; image: ImageRow | undefined },
): Promise<Mount | Reason> {
  const { mount, image } = had
  const { source } = mount
  if (Object.values(projectDirectories(starter.userName, project.id)).includes(source)) return mount
  if (source === homeOf(starter.userName))
    return (await withheldHome(reads, { starter, project, image })) === undefined ? mount : lost("the home directory", starter)
  const datasets = (await reads.data.overlapping(source)).filter((row) => normalPath(row.accessInfo) === source)
  const rights = [...(await mountsOf(reads, starter, datasets)).values()]
  if (rights.includes("rw")) return mount
  return rights.includes("ro") ? { ...mount, readOnly: true } : lost(`the dataset in ${mount.target}`, starter)
}

function lost(what: string, { userName }: Caller): Reason {
  return { code: "data_unavailable", msg: `The run had ${what}, which is gone or which ${userName} may no longer use in it` }
}
