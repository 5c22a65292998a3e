export const usersPerSet: number
export function userName(set: "long" | "short", i: number): string
export function imageBody(set: "long" | "short", i: number, docLength?: number): Record<string, string | boolean>
