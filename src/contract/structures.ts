import type { Structure } from "./fields/structure.ts"
import { capacity, preview } from "./resources/capacity.ts"
import { dataModel, dataPart, dataWithoutDoc } from "./resources/data.ts"
import { grantModel } from "./resources/grant.ts"
import { imageCheck, imageModel, imagePart, imageWithoutDoc, storedImage } from "./resources/image.ts"
import { auditEntry, done, failure, health, inForce, readiness, serverEvent } from "./resources/installation.ts"
import { filesToken, groupModel, newToken, session, tokenCode, tokenModel, userModel, whoami } from "./resources/people.ts"
import { projectModel, projectTrainData } from "./resources/project.ts"
import { logLine, runStats } from "./resources/run-stats.ts"
import { idleRun, runningProject } from "./resources/running-project.ts"

/** Every structure of answers, in the order of the description. */
export const structures: readonly Structure[] = [
  imageModel,
  imagePart,
  imageWithoutDoc,
  imageCheck,
  storedImage,
  dataModel,
  dataPart,
  dataWithoutDoc,
  projectModel,
  projectTrainData,
  runningProject,
  userModel,
  groupModel,
  session,
  tokenModel,
  grantModel,
  newToken,
  tokenCode,
  whoami,
  health,
  readiness,
  inForce,
  capacity,
  runStats,
  logLine,
  preview,
  idleRun,
  filesToken,
  auditEntry,
  serverEvent,
  done,
  failure,
]
