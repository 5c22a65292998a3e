import type { RegistryAllowlist } from "../registry-allowlist.ts"
import type { OnPull } from "../stored-images.ts"
import type { FakeDaemon } from "./fake-daemon.ts"

export interface FakeEngineOptions {
  /** The fake daemon; the code that opened it disposes of it. */
  daemon: FakeDaemon
  /** The instance whose containers the engine manages. */
  instance: string
  /** If set, mount sources must exist below it. */
  filesRoot?: string
  mockGpus?: number
  /** CPUs of the one node `fake`. Default 64. */
  cpus?: number
  /** Default 256 GiB. */
  memoryMiB?: number
  /**
   * The registries from which images may come, judged by name alone. Default:
   * `wellKnownRegistries`.
   */
  registries?: RegistryAllowlist
  /** Default 0: no limit. */
  maxImageBytes?: number
  /** Must not reject. */
  onPull?: OnPull
}
