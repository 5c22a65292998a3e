import type { RegistryAllowlist } from "../registry-allowlist.ts"
import type { FakeDaemon } from "./fake-daemon.ts"

export interface FakeEngineOptions {
  /** What the engine holds; disposed of by whoever opened it. */
  daemon: FakeDaemon
  /** Whose containers are seen. */
  instance: string
  /** When given, mount sources must exist below it. */
  filesRoot?: string
  mockGpus?: number
  /** Of the one node `fake`. Default 64. */
  cpus?: number
  /** Default 256 GiB. */
  memoryMiB?: number
  /**
   * Where images may come from; only names count, nothing is looked up. Default: registries with
   * public names.
   */
  registries?: RegistryAllowlist
  /** Default 0: no bound. */
  maxImageBytes?: number
}
