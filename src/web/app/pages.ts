import type { IconName } from "../components/icon.tsx"
import { texts } from "../text/index.ts"

/** The pages that the navigation and the palette list, in their order. */
export const pages = [
  { to: "/", label: texts.common.nav.home, icon: "home" },
  { to: "/projects", label: texts.common.nav.projects, icon: "box" },
  { to: "/images", label: texts.common.nav.images, icon: "image" },
  { to: "/groups", label: texts.common.nav.groups, icon: "people" },
  { to: "/datasets", label: texts.common.nav.datasets, icon: "database" },
  { to: "/files", label: texts.common.nav.files, icon: "folder" },
  { to: "/history", label: texts.common.nav.history, icon: "history" },
] as const satisfies readonly { to: string; label: string; icon: IconName }[]

/** The further pages of administrators. */
export const adminPages = [
  { to: "/people", label: texts.common.nav.people, icon: "user" },
  { to: "/capacity", label: texts.common.nav.capacity, icon: "settings" },
  { to: "/health", label: texts.common.nav.health, icon: "check" },
  { to: "/audit", label: texts.common.nav.audit, icon: "history" },
] as const satisfies readonly { to: string; label: string; icon: IconName }[]

/** The forms that the palette opens. */
export const creationForms = [
  { to: "/projects/new", label: texts.common.palette.newProject },
  { to: "/datasets/new", label: texts.common.palette.newDataset },
  { to: "/images/new", label: texts.common.palette.newImage },
] as const satisfies readonly { to: string; label: string }[]

export const adminCreationForms = [
  { to: "/groups/new", label: texts.common.palette.newGroup },
  { to: "/people/new", label: texts.common.palette.newPerson },
] as const satisfies readonly { to: string; label: string }[]
