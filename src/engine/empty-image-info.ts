import type { ImageInfo } from "./engine.ts"

/** An image that sets nothing. */
export const emptyImageInfo: ImageInfo = {
  ...{ digest: "", registryDigest: "", size: 0, architecture: "", user: "", workDir: "" },
  ...{ entryPoint: [], command: [], ports: [], variables: [], volumes: [] },
}
