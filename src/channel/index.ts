export { archiveRoot, tarEnv } from "./archive-path.ts"
export { ChannelStream, type Chunk, frameCost, type JsonObject } from "./channel-stream.ts"
export {
  ControlProcess,
  connectControl,
  controlProtocols,
  type ExitStatus,
  openCopy,
  openExec,
  openFileCopy,
  openForward,
  openShell,
  outputPart,
  type ProcessOptions,
  type TerminalSize,
  type WebSocketLike,
} from "./client.ts"
export { allocateFrame, releaseFrame } from "./frame-pool.ts"
export { copyBlockBytes, maxDataFrameBytes, protocolName } from "./frames.ts"
export { foldFileName } from "./link-names.ts"
export { openListen } from "./listen.ts"
export { closeStatus, Multiplexer, type MultiplexerOptions, type Transport } from "./multiplexer.ts"
export { StreamError, type StreamErrorCode, streamErrorCodes } from "./stream-error.ts"
export { TarCheck } from "./tar-check.ts"
export { readFirstFile, type TarFile, tarBlockBytes } from "./tar-header.ts"
