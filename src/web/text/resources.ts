import { datasets } from "./datasets.ts"
import { editing } from "./editing.ts"
import { groups } from "./groups.ts"
import { images } from "./images.ts"
import { listing } from "./listing.ts"
import { projects } from "./projects.ts"
import { sharing } from "./sharing.ts"

/**
 * The texts about projects, images, datasets, groups and sharing. The first page loads without
 * them.
 */
export const resourceTexts = { datasets, editing, groups, images, listing, projects, sharing }
