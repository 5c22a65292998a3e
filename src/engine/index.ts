export { createEngine, type EngineOptions, openFakeWorld } from "./create.ts"
export { isNetworkPool, isSubnet } from "./docker/subnets.ts"
export * from "./engine.ts"
export type { FakeContainer, FakeWorld } from "./fake/world.ts"
