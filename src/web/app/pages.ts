import type { IconName } from "../components/icon.tsx"
import { texts } from "../text/index.ts"

/** The pages that the navigation and the palette list, in their order. */
export const pages = [
  { to: "/", label: texts.common.nav.home, icon: "home" },
  { to: "/projects", label: texts.projects.title, icon: "box" },
  { to: "/images", label: texts.images.title, icon: "image" },
  { to: "/groups", label: texts.groups.title, icon: "people" },
  { to: "/history", label: texts.common.nav.history, icon: "history" },
] as const satisfies readonly { to: string; label: string; icon: IconName }[]
