import { createLink } from "@tanstack/react-router"
import { LinkButton } from "../components/button.tsx"

/** A link to a page of the web UI that looks like a button. */
export const ButtonLink = createLink(LinkButton)
