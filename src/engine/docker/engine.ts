import type { Engine } from "../engine.ts"
import type { DockerOptions } from "./options.ts"

export function createDockerEngine(_options: DockerOptions): Promise<Engine> {
  throw new Error("The Docker adapter is not there yet")
}
