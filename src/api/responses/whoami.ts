import type { Caller } from "#access"
import type { Whoami } from "#contract"
import { effectiveLimitsOf } from "#runs"
import type { Services } from "../context.ts"
import { toLimitsResponse } from "./limits.ts"

export async function toWhoami({ store, settings }: Services, caller: Caller): Promise<Whoami> {
  const limits = toLimitsResponse(await effectiveLimitsOf(store, caller.userId, settings.defaultLimits), settings.memoryUnit)
  return {
    UserName: caller.userName,
    IsAdmin: caller.isAdmin,
    Groups: [...caller.groupNames].sort(),
    Limits: limits,
    FilesURL: settings.filesUrl,
    MemoryUnit: settings.memoryUnit,
    Version: settings.version,
  }
}
