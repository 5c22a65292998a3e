/**
 * A component whose code loads when it is first rendered, or by `preload`. If its file is gone
 * because there is a newer build, rendering it loads the page again, once. Loading ahead never
 * does: what was typed matters more.
 */
export { lazyRouteComponent as lazyComponent } from "@tanstack/react-router"
