import { at, faults } from "./mutant.ts"

const frames = ["src/channel/multiplexer.test.ts"]
const archives = ["src/channel/tar-check.test.ts"]
const channel = ["test/control/control.test.ts"]

/** The control channel. */
export const control = [
  ...faults("src/channel/channel-stream.ts", frames, [
    ["data beyond the credit is accepted", at("ChannelStream.receiveData", "this.#held > this.#window || "), ""],
    ["tiny frames cost nothing", at("ChannelStream.receiveData", "+ frameCost"), ""],
    ["credit grows without end", at("ChannelStream.receiveCredit", "this.#credit + bytes > maxCredit"), "false"],
  ]),
  ...faults("src/channel/multiplexer.ts", frames, [
    ["bad frames are not counted", at("Multiplexer.#countBadFrame", "this.#badFrames += 1"), ""],
    ["an ID is used again", at("Multiplexer.#receiveOpen", " || id <= this.#lastPeerId"), ""],
    ["a connection has any number of streams", at("Multiplexer.#receiveOpen", "this.#streams.size >= maxStreams"), "false"],
  ]),
  ...faults("src/channel/tar-check.ts", archives, [
    ["a name leads through a link", at("TarCheck.#checkPath", "this.#links.has(key)"), "false"],
    ["a link is found by its exact name only", at("TarCheck.#checkPath", ".toLowerCase()"), ""],
    ["a name leads upwards", at("TarCheck.#checkPath", ' || parts.includes("..")'), ""],
    ["a size by pax has any form", at("paxSize", "!/^\\d{1,15}$/.test(text)"), "false"],
    ["a header's checksum does not count", at("TarCheck.#checkHeader", "readOctal(header, 148, 8) !== checksumOf(header)"), "false"],
  ]),
  ...faults("src/control/control.ts", channel, [
    ["a connection outlives its right", at("createControl", 'right.addEventListener("abort"'), 'right.addEventListener("never"'],
  ]),
  ...faults("src/control/streams/shell-sessions.ts", channel, [
    ["a shell outlives its right", at("ShellSession.endWith", "!watch.signal.aborted"), "false"],
    ["a shell is shown to others", at("ShellSessions.find", "session?.owner.userId === userId && "), "session && "],
  ]),
  ...faults("src/api/control.ts", channel, [
    ["pages of other origins control runs", at("authenticateUpgrade", "declaresOtherOrigin(request, own)"), "false"],
    ["a session needs no origin", at("authenticateUpgrade", "request.headers.origin === undefined"), "false"],
  ]),
]
