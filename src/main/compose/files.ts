import { deferredTree, startFiles } from "#files"
import { filesOptions } from "../component-options.ts"
import { secretKey } from "../secrets.ts"
import { SharedFiles } from "../shared-files.ts"
import type { BaseComponents, FileComponents, LateComponents, StartContext } from "./context.ts"

/**
 * Starts the worker without waiting for it: it takes a while to load, and the first requests do not
 * need it.
 */
export function startFileServer(
  { settings, roles, urls, dataDir, filesRoot, clock, logger, stack }: StartContext,
  { store, identity, quotas, events }: BaseComponents,
  late: LateComponents,
): FileComponents {
  const { hostNames, origin: baseOrigin } = urls
  const all = filesOptions({ settings, filesRoot, store, identity, events, logger, hostNames, baseOrigin, quotas })
  const relayKey = () => secretKey({ ...settings, dataDir }, "files-relay")
  const starting = !roles.has("files")
    ? startFiles({ ...all, listen: undefined })
    : store.dialect === "postgres"
      ? SharedFiles.start({ files: all, relayKey: relayKey(), store, clock, logger })
      : startFiles(all)
  const files = starting.catch(() => undefined)
  late.files = files
  stack.defer(async () => (await files)?.[Symbol.asyncDispose]())
  identity.onInvalidate(async () => (await files)?.invalidate())
  return { starting, tree: deferredTree(starting) }
}
