export { createEngine, type EngineOptions, openFakeWorld } from "./create.ts"
export * from "./engine.ts"
export type { FakeContainer, FakeWorld } from "./fake/world.ts"
