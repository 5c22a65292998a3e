/** Minutes without use that the list of idle runs offers. */
export const idleMinutesOptions = ["30", "120", "480", "1440", "10080"] as const
export type IdleMinutes = (typeof idleMinutesOptions)[number]
