import { at, faults } from "./mutant.ts"

const frames = ["src/channel/multiplexer.test.ts"]
const archives = ["src/channel/tar-check.test.ts", "src/channel/link-names.test.ts"]
const channel = ["test/control/control.test.ts"]
const signals = ["src/control/streams/programs.test.ts"]
const sessions = ["src/engine/docker/exec/session-processes.test.ts"]
const execs = ["src/engine/docker/exec/docker-exec.test.ts"]

/** The control channel. */
export const control = [
  ...faults("src/channel/channel-stream.ts", frames, [
    ["data beyond the credit is accepted", at("ChannelStream.receiveData", "this.#held > this.#window || "), ""],
    ["tiny frames cost nothing", at("ChannelStream.receiveData", "+ frameCost"), ""],
    ["credit grows without end", at("ChannelStream.receiveCredit", "this.#credit + bytes > maxCredit"), "false"],
  ]),
  ...faults(
    "src/channel/channel-stream.ts",
    ["src/channel/channel-stream.test.ts"],
    [["each chunk that is read moves all that wait", at("ChannelStream.read", "this.#takeChunk()"), "this.#chunks.shift()"]],
  ),
  ...faults("src/channel/multiplexer.ts", frames, [
    ["bad frames are not counted", at("Multiplexer.#countBadFrame", "this.#badFrames += 1"), ""],
    ["an ID is used again", at("Multiplexer.#receiveOpen", " || id <= this.#lastPeerId"), ""],
    ["a connection has any number of streams", at("Multiplexer.#receiveOpen", "this.#streams.size >= maxStreams"), "false"],
  ]),
  ...faults("src/channel/tar-check.ts", archives, [
    ["a name leads through a link", at("TarCheck.#checkPath", "this.#links.leadsThrough(parts)"), "false"],
    ["a name leads upwards", at("TarCheck.#checkPath", " || parts.some(isUpwards)"), ""],
    ["an entry's other names do not count", at("namesOf", "own.length > 0"), "false"],
    ["an entry has a size for each program", at("TarCheck.#sizeOf", "size !== undefined && "), "false && "],
    ["blanks before a key of pax hide it", at("parsePax", "/^[ \\t]/.test(key)"), "false"],
    ["a prefix counts in some formats only", at("nameOf", "!isPosix && prefix.length > 0"), "false"],
    ["a size by pax has any form", at("paxSize", "!/^\\d{1,15}$/.test(text)"), "false"],
    [
      "a header's checksum does not count",
      at("TarCheck.#checkHeader", "readOctal(header, tarFields.checksum) !== checksumOf(header)"),
      "false",
    ],
  ]),
  ...faults("src/channel/link-names.ts", archives, [
    ["a link is found by its exact name only", at("foldFileName", ".toUpperCase()"), ""],
    ["the links of an archive use any amount of memory", at("LinkNames.add", "this.#bytes > maxBytes"), "false"],
    ["names below a link's directory need no memory", at("LinkNames.add", "(node.children ? 0 : childrenBytes)"), "0"],
    ["accents of a name are sorted in quadratic time", at("hasTooManyAccents", "31"), "9999"],
    [
      "the end of a name is searched for from each dot",
      at("foldFileName", "withoutEnd(name.toLowerCase())"),
      "name.toLowerCase().replace(/[. ]+$/, '')",
    ],
  ]),
  ...faults(
    "src/cli/files/pack-file.ts",
    ["src/cli/files/pack-file.test.ts"],
    [["a copied file keeps the mark to run as its owner", at("packFile", "mode & 0o777"), "mode & 0o7777"]],
  ),
  ...faults(
    "src/cli/files/unpack-file.ts",
    ["src/cli/files/received-archive.test.ts"],
    [["a run's archive may hold more than the file", at("unpackFile", "byte !== 0"), "byte > 255"]],
  ),
  ...faults(
    "src/control/socket-transport.ts",
    ["src/control/socket-transport.test.ts"],
    [
      ["each frame is a call of the system", at("SocketTransport.send", "this.#collect()"), ""],
      ["short frames that nobody reads take any memory", at("SocketTransport.send", "this.#unsentFrames += 1"), ""],
    ],
  ),
  ...faults(
    "src/control/streams/listen.ts",
    ["test/control/listen.test.ts"],
    [
      ["a person's ports open as fast as they like", at("open", "await pause(bounds.control.listenerPauseMs.value)"), ""],
      ["a port of a client stays open after its stream", at("serveListen", "server.close()"), ""],
      ["connections stay open after the stream that listens", at("serveListen", "for (const socket of sockets) socket.destroy()"), ""],
    ],
  ),
  ...faults(
    "src/control/streams/paced-input.ts",
    ["src/control/streams/paced-input.test.ts"],
    [["a program takes all that a client sent in one turn", at("pacedInput", "await yielder.pause()"), ""]],
  ),
  ...faults(
    "src/control/streams/copy.ts",
    ["src/control/streams/copy.test.ts"],
    [["what a program complains about delays everybody's requests", at("readErrors", "await waitForTurn(userId, data, program)"), ""]],
  ),
  ...faults(
    "src/control/streams/forward.ts",
    ["src/control/streams/forward.test.ts"],
    [
      [
        "short chunks for a program that does not read take any memory",
        at("relayToProgram", "await writeThrough(socket, data)"),
        "socket.write(data)",
      ],
    ],
  ),
  ...faults("src/control/connection.ts", channel, [
    ["a short message holds all that was read with it", at("serveConnection", "ownMemory(data)"), "data"],
    ["pongs and parts of messages have no rate", at("serveConnection", 'socket.on("data"'), 'socket.on("never"'],
  ]),
  ...faults("src/control/paced-message-queue.ts", channel, [
    ["all messages of one read are handled in one turn", at("PacedMessageQueue.#handleAll", "!this.#isOpen) break"), "false) break"],
  ]),
  ...faults("src/control/streams/shell.ts", channel, [
    ["returning to a shell has no rate", at("serveShell", "!isNew) await"), "false) await"],
  ]),
  ...faults("src/http/connections/turn-budget.ts", channel, [
    ["a connection that is alone handles any number of messages", at("TurnBudget.spend", "spent.reads <= maxReadsAlone"), "true"],
  ]),
  ...faults(
    "src/control/control-usage.ts",
    ["src/control/control-usage.test.ts"],
    [
      [
        "who reconnects gets further explanations",
        at("ControlUsage.isUnused", "!isOpen && performance.now() >= this.#explanations.until"),
        "!isOpen",
      ],
    ],
  ),
  ...faults("src/control/control-server.ts", channel, [
    ["a message has any number of parts", at("createControlServer", "maxFragments: bounds.control.messageParts.value,"), ""],
    ["a connection outlives its right", at("createControlServer", 'right.addEventListener("abort"'), 'right.addEventListener("never"'],
  ]),
  ...faults("src/control/shells/shell-sessions.ts", channel, [
    ["a shell outlives its right", at("ShellSession.bindToRight", "!watch.signal.aborted"), "false"],
    ["a shell is shown to others", at("ShellSessions.find", "session?.owner.userId === userId && "), "session && "],
  ]),
  ...faults("src/control/streams/programs.ts", signals, [
    ["each signal searches a program's processes at once", at("sendSignal", "if (pending) return void pending.add(signal)"), ""],
  ]),
  ...faults("src/control/streams/programs.ts", channel, [
    ["the output of programs delays everybody's requests", at("relayOutput", "await waitForTurn(caller.userId, data, stream)"), ""],
  ]),
  ...faults("src/control/request-fields.ts", channel, [
    ["a program begins in a directory of the kernel", at("parseWorkDir", "kernelPaths.test("), "false && kernelPaths.test("],
  ]),
  ...faults("src/engine/docker/exec/session-processes.ts", sessions, [
    ["each signal lists all processes of a run", at("listOf", "if (known) return known"), ""],
    ["a signal reaches other sessions", at("signalSession", "process.session === session.leader"), "true"],
  ]),
  ...faults(
    "src/engine/docker/exec/docker-exec.ts",
    ["test/attacks/held-pipe.docker.test.ts"],
    [
      [
        "the input of programs is written to their pipes, whose locks they hold",
        at("DockerExec.write", "writeThrough(socket, data)"),
        `import("node:fs").then((fs) => fs.writeFileSync(\`/proc/\${this.#parts.session.leader}/fd/0\`, data))`,
      ],
    ],
  ),
  ...faults("src/engine/docker/exec/docker-exec.ts", execs, [
    [
      "one person's programs occupy all starts of the engine",
      at("startExec", '.exec(options), { kind: "create", owner })'),
      '.exec(options), { kind: "create" })',
    ],
  ]),
  ...faults("src/api/control.ts", channel, [
    ["reads of output by the control channel have no rate", at("limitsOf", 'state().rateLimiter.consume(userId, "streams")'), ""],
    ["pages of other origins control runs", at("authenticateUpgrade", "declaresOtherOrigin(request, own)"), "false"],
    ["a session needs no origin", at("authenticateUpgrade", "request.headers.origin === undefined"), "false"],
  ]),
]
