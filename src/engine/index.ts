export * from "./engine.ts"
