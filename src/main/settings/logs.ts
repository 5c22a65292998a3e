import { logLevels } from "#kit"
import { choiceOf, integerBetween } from "./parse.ts"
import { setting } from "./setting.ts"

/** The log and the audit. */
export const logsSettings = {
  auditDays: setting({
    env: "AUDIT_DAYS",
    default: "400",
    initial: 400,
    read: integerBetween(0, 36_500),
    doc: "Rows of the audit log are removed after this number of days; 0 keeps them for ever.",
  }),
  logLevel: setting({
    env: "LOG_LEVEL",
    default: "info",
    initial: "info" as (typeof logLevels)[number],
    read: choiceOf(...logLevels),
    doc: "Minimum level of log lines.",
  }),
  accessLog: setting({
    env: "ACCESS_LOG",
    default: "on",
    initial: "on" as "on" | "off",
    read: choiceOf("on", "off"),
    doc: "A line of level `info` for each request to the base URL: method, path without its query, status, milliseconds, request ID, user and address.",
  }),
} as const
