import type { Page } from "playwright-core"
import type { TestServer } from "../test-server.ts"

/** A page of the web UI: its address below `/ui/`, and what shows that it is drawn. */
export interface UiPage {
  name: string
  path: string
  isDrawn: (page: Page) => Promise<unknown>
}

const penguinsDoc = `Which bill belongs to which **species**? See [the paper](https://example.org).

- [x] clean the data
- [ ] fit a \`tree\`

| species | count |
|:--|--:|
| Adelie | 152 |
| Gentoo | 124 |

\`\`\`python
penguins.groupby("species").mean()
\`\`\`

Bills grow with bodies: $l \\approx a + b\\,m^{2/3}$, where

$$m = \\frac{1}{n}\\sum_{i=1}^{n} m_i$$
`

/** The installation that the pages show: runs in several states, with projects and datasets. */
export async function fillInstallation({ admin }: TestServer): Promise<void> {
  const image = async (Name: string, Image: string) => (await admin.createImage({ body: { Name, Image } })).ID
  const dataset = await admin.createData({ body: { Name: "Palmer penguins", Comment: "344 penguins of three species" } })
  const project = async (ProjectName: string, ImageID: number, more: object = {}) =>
    (await admin.createProject({ body: { ProjectName, Type: "http", ImageID, ...more } })).ID
  const web = await image("Web", "fake/http")
  const penguins = await project("Penguin analysis", web, { Comment: "Species by bill and flipper", TrainData: [{ ID: dataset.ID }] })
  const slow = await project("Glacier segmentation", await image("Slow", "fake/slow-pull:600000"), { Comment: "Fetches a large image" })
  const large = await project("Language model", await image("Large", "fake/oom"), { Comment: "Needs much memory" })
  for (const name of ["Weather maps", "Protein folding", "Street signs"]) await project(name, web)
  await admin.updateProject({ body: { ID: penguins, Doc: penguinsDoc } })
  await admin.createGroup({ body: { GroupName: "biology", Comment: "Everybody in the laboratory", Members: ["admin"] } })
  await admin.createGrant({ body: { ProjectID: penguins, GroupName: "biology", Access: "use" } })
  await admin.startRun({ body: { ProjectID: penguins, Cpus: 2 } })
  await admin.startRun({ body: { ProjectID: slow }, headers: { prefer: "respond-async" } })
  await admin.startRun({ body: { ProjectID: large } }).catch(() => {})
  await admin.createUser({ body: { UserName: "ann", Email: "ann@example.com", Comment: "Chemistry, until March", Limits: { MaxRuns: 5 } } })
  await admin.createGroup({ body: { GroupName: "students", Members: ["ann"], Limits: { MaxGpus: 1 }, TotalLimits: { MaxGpus: 4 } } })
}

/** Every page of the web UI. Tests for accessibility, width and screenshots follow this list. */
export const uiPages: readonly UiPage[] = [
  { name: "home", path: "", isDrawn: (page) => page.getByText("Recently ended").waitFor() },
  { name: "start", path: "start/4", isDrawn: (page) => page.getByText("It starts at once").waitFor() },
  { name: "run", path: "runs/1", isDrawn: (page) => page.locator("figure canvas").first().waitFor() },
  { name: "run-starting", path: "runs/2", isDrawn: (page) => page.getByText("Fetch image", { exact: true }).waitFor() },
  { name: "run-failed", path: "runs/3", isDrawn: (page) => page.getByText("Start with 4 GiB").waitFor() },
  { name: "start-refused", path: "start/4?cpus=100000", isDrawn: (page) => page.getByText("It would fail.").waitFor() },
  { name: "run-output", path: "runs/1?tab=logs", isDrawn: (page) => page.getByText("started, port").waitFor() },
  { name: "run-record", path: "runs/1?tab=record", isDrawn: (page) => page.getByText("Started by").waitFor() },
  { name: "history", path: "history", isDrawn: (page) => page.getByRole("cell", { name: "Language model" }).waitFor() },
  { name: "projects", path: "projects", isDrawn: (page) => page.getByRole("link", { name: "Weather maps" }).waitFor() },
  { name: "project", path: "projects/1", isDrawn: (page) => page.getByRole("button", { name: "Take back: biology" }).waitFor() },
  { name: "project-new", path: "projects/new", isDrawn: (page) => page.getByRole("button", { name: "Create and start" }).waitFor() },
  { name: "project-edit", path: "projects/1/edit", isDrawn: (page) => page.getByRole("button", { name: "Save" }).waitFor() },
  { name: "images", path: "images", isDrawn: (page) => page.getByRole("cell", { name: "fake/oom" }).waitFor() },
  { name: "image", path: "images/1", isDrawn: (page) => page.getByText("Who has access").waitFor() },
  { name: "image-new", path: "images/new", isDrawn: (page) => page.getByLabel("Reference").waitFor() },
  { name: "image-edit", path: "images/1/edit", isDrawn: (page) => page.getByRole("button", { name: "Save" }).waitFor() },
  { name: "groups", path: "groups", isDrawn: (page) => page.getByRole("link", { name: "biology" }).waitFor() },
  { name: "group", path: "groups/1", isDrawn: (page) => page.getByRole("link", { name: "Penguin analysis" }).waitFor() },
  { name: "group-new", path: "groups/new", isDrawn: (page) => page.getByRole("button", { name: "Create" }).waitFor() },
  { name: "group-edit", path: "groups/1/edit", isDrawn: (page) => page.getByRole("button", { name: "Save" }).waitFor() },
  { name: "datasets", path: "datasets", isDrawn: (page) => page.getByRole("link", { name: "Palmer penguins" }).waitFor() },
  { name: "dataset", path: "datasets/1", isDrawn: (page) => page.getByText("Who has access").waitFor() },
  { name: "dataset-new", path: "datasets/new", isDrawn: (page) => page.getByLabel("Folder").waitFor() },
  { name: "dataset-edit", path: "datasets/1/edit", isDrawn: (page) => page.getByRole("button", { name: "Save" }).waitFor() },
  { name: "datasets-bin", path: "datasets?show=bin", isDrawn: (page) => page.getByText("The bin is empty.").waitFor() },
  { name: "files", path: "files", isDrawn: (page) => page.getByRole("link", { name: "datasets" }).waitFor() },
  {
    name: "files-datasets",
    path: "files?path=/users/admin/datasets",
    isDrawn: (page) => page.getByLabel("Search in this folder").waitFor(),
  },
  { name: "people", path: "people", isDrawn: (page) => page.getByRole("cell", { name: "ann@example.com" }).waitFor() },
  { name: "group-limits", path: "people?tab=groups", isDrawn: (page) => page.getByRole("cell", { name: "students" }).waitFor() },
  { name: "people-sessions", path: "people?tab=sessions", isDrawn: (page) => page.getByText("This browser").waitFor() },
  { name: "person-sessions", path: "people/1?tab=sessions", isDrawn: (page) => page.getByText("This browser").waitFor() },
  { name: "person", path: "people/2", isDrawn: (page) => page.getByText("students").waitFor() },
  { name: "person-limits", path: "people/2?tab=limits", isDrawn: (page) => page.getByRole("cell", { name: "This person" }).waitFor() },
  { name: "person-account", path: "people/2?tab=account", isDrawn: (page) => page.getByRole("button", { name: "Save" }).waitFor() },
  { name: "person-new", path: "people/new", isDrawn: (page) => page.getByLabel("User name").waitFor() },
  { name: "capacity", path: "capacity", isDrawn: (page) => page.getByText("There are no GPUs.").waitFor() },
  { name: "all-runs", path: "capacity?tab=runs", isDrawn: (page) => page.getByRole("cell", { name: "Penguin analysis" }).waitFor() },
  { name: "idle-runs", path: "capacity?tab=idle", isDrawn: (page) => page.getByText("No run is idle for so long.").waitFor() },
  {
    name: "stored-images",
    path: "capacity?tab=images",
    isDrawn: (page) => page.getByRole("columnheader", { name: "Last used" }).waitFor(),
  },
  { name: "health", path: "health", isDrawn: (page) => page.getByText("Everything works.").waitFor() },
  { name: "audit", path: "audit", isDrawn: (page) => page.getByRole("cell", { name: "group.created" }).first().waitFor() },
  { name: "me", path: "me", isDrawn: (page) => page.getByText("Your limits").waitFor() },
  { name: "me-password", path: "me?tab=password", isDrawn: (page) => page.getByLabel("Present password").waitFor() },
  { name: "me-sessions", path: "me?tab=sessions", isDrawn: (page) => page.getByText("This browser").waitFor() },
  { name: "me-tokens", path: "me?tab=tokens", isDrawn: (page) => page.getByRole("cell", { name: "test" }).waitFor() },
  { name: "me-appearance", path: "me?tab=appearance", isDrawn: (page) => page.getByText("Language of dates").waitFor() },
  {
    name: "authorize",
    path: `authorize?name=quayside+on+laptop&challenge=${"c".repeat(43)}&state=${"s".repeat(43)}&port=40000`,
    isDrawn: (page) => page.getByText("quayside on laptop").waitFor(),
  },
  { name: "not-found", path: "no-such-page", isDrawn: (page) => page.getByText("There is no such page").waitFor() },
]
