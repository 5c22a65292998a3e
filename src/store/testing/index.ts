export * from "./databases.ts"
export * from "./samples.ts"
