import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { bounds } from "#contract"
import { loadSeccompProfile } from "./seccomp.ts"

const folder = mkdtempSync(join(tmpdir(), "quayside-seccomp-"))
after(() => rmSync(folder, { recursive: true }))

interface Rule {
  names: string[]
  action: string
  args?: { index: number; value: number; valueTwo?: number; op: string }[]
  errnoRet?: number
}

function fileOf(content: unknown): string {
  const file = join(folder, "profile.json")
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content))
  return file
}

const own = JSON.parse(loadSeccompProfile()) as { defaultAction: string; archMap: { subArchitectures: string[] }[]; syscalls: Rule[] }
const allowed = own.syscalls.filter(({ action }) => action === "SCMP_ACT_ALLOW")
const valuesOf = (name: string) => allowed.filter(({ names }) => names.includes(name)).map(({ args }) => args)

test("Quayside's own profile allows no call that reaches beyond the run, whatever its capabilities", () => {
  const dangerous = `io_uring_setup io_uring_enter io_uring_register keyctl add_key request_key userfaultfd unshare setns bpf
    perf_event_open clone3 mount umount umount2 pivot_root move_mount fsopen fsmount fsconfig fspick open_tree mount_setattr
    open_by_handle_at init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff iopl ioperm
    acct quotactl syslog settimeofday stime clock_settime sethostname setdomainname lookup_dcookie nfsservctl vhangup uselib
    ustat sysfs _sysctl socketcall modify_ldt kcmp pidfd_getfd process_madvise fanotify_init vm86 vm86old chroot
    move_pages migrate_pages mbind set_mempolicy get_mempolicy`.split(/\s+/)
  assert.deepEqual(
    dangerous.filter((name) => valuesOf(name).length > 0),
    [],
  )
  assert.equal(own.defaultAction, "SCMP_ACT_ERRNO")
  assert.deepEqual(
    own.archMap.flatMap(({ subArchitectures }) => subArchitectures),
    [],
  )
})

test("Quayside's own profile allows four socket families by exact comparison, and no new namespace", () => {
  const families = valuesOf("socket").map((args) => args?.map(({ index, value, op }) => [index, value, op]))
  assert.deepEqual(
    families,
    [1, 2, 10, 16].map((family) => [[0, family, "SCMP_CMP_EQ"]]),
  )
  assert.deepEqual(
    valuesOf("socketpair").map((args) => args?.[0]?.value),
    [1],
  )
  const op = "SCMP_CMP_MASKED_EQ"
  const thread = { index: 0, value: 0x7e03_0400, valueTwo: 0x1_0400, op }
  assert.deepEqual(valuesOf("clone"), [[{ index: 0, value: 0x7e03_0000, valueTwo: 0, op }], [thread]])
  assert.equal(own.syscalls.find(({ names }) => names.includes("clone3"))?.errnoRet, 38)
})

test("Quayside's own profile lets no thread have descriptors of its own, which no list of open files shows", () => {
  const threads = valuesOf("clone").filter((args) => ((args?.[0]?.value ?? 0) & 0x1_0000) !== 0 && (args?.[0]?.valueTwo ?? 0) !== 0)
  for (const args of threads) assert.equal((args?.[0]?.valueTwo ?? 0) & 0x400, 0x400)
  assert.deepEqual(valuesOf("close_range"), [[{ index: 2, value: 2, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" }]])
  assert.deepEqual(valuesOf("unshare"), [])
})

test("Quayside's own profile allows all device calls but those that take a file out of its quota", () => {
  const rules = valuesOf("ioctl")
  const isAllowed = (request: number) =>
    rules.some((args) => {
      const [{ index = 0, value = 0, valueTwo = 0, op = "" } = {}, ...others] = args ?? []
      assert.deepEqual([index, op, others], [1, "SCMP_CMP_MASKED_EQ", []])
      return (request & value) === valueTwo
    })
  const refused = Array.from({ length: 256 }, (_, type) => type).filter((type) => !isAllowed((type << 8) | 0x17))
  assert.deepEqual(refused, [0x58, 0x66])
  for (const request of [0x401c5820, 0x40086602, 0x40046602]) assert.ok(!isAllowed(request))
  assert.deepEqual([valuesOf("file_setattr"), valuesOf("file_getattr")], [[], []])
})

test("Quayside's own profile allows all calls on descriptors but leases, which delay whoever opens a file, and hidden locks", () => {
  const rules = valuesOf("fcntl").map((args) => args?.map(({ index, op, value, valueTwo = 0 }) => ({ index, op, value, valueTwo })))
  assert.ok(rules.every((args) => args?.length === 1 && args[0]?.index === 1 && args[0].op === "SCMP_CMP_MASKED_EQ"))
  const isAllowed = (call: number) => rules.some((args) => args?.some(({ value, valueTwo }) => (call & value) >>> 0 === valueTwo))
  const refused = Array.from({ length: 1_048 }, (_, call) => call).filter((call) => !isAllowed(call))
  assert.deepEqual(refused, [36, 37, 38, 1_024, ...Array.from({ length: 8 }, (_, n) => 1_040 + n)])
})

/** Whether a rule allows a call with these arguments, as the kernel compares 64 bits. */
function isCallAllowed(name: string, ...callArguments: number[]): boolean {
  const meets = ({ index, value, valueTwo = 0, op }: NonNullable<Rule["args"]>[number]) => {
    const argument = BigInt(callArguments[index] ?? 0)
    if (op === "SCMP_CMP_LE") return argument <= BigInt(value)
    assert.equal(op, "SCMP_CMP_MASKED_EQ")
    return (argument & BigInt(value)) === BigInt(valueTwo)
  }
  return valuesOf(name).some((args) => args === undefined || args.every(meets))
}

const beyondHalf = 2 ** 32

test("Quayside's own profile allows no filter that the kernel compiles, and all other options", () => {
  const refusedOf = (count: number, isAllowed: (n: number) => boolean) =>
    Array.from({ length: count }, (_, n) => n).filter((n) => !isAllowed(n) || !isAllowed(n + beyondHalf))
  const [socketLevel, tcpLevel] = [1, 6]
  assert.deepEqual(
    refusedOf(512, (level) => isCallAllowed("setsockopt", 0, level, 26)),
    [socketLevel],
  )
  assert.deepEqual(
    refusedOf(128, (option) => isCallAllowed("setsockopt", 0, socketLevel, option)),
    [26, 50, 51, 52],
  )
  assert.deepEqual(
    refusedOf(128, (option) => isCallAllowed("setsockopt", 0, tcpLevel, option)),
    [14, 32, 38],
  )
  assert.deepEqual(
    refusedOf(128, (option) => isCallAllowed("prctl", option)),
    [22],
  )
  assert.deepEqual(
    refusedOf(4, (operation) => isCallAllowed("seccomp", operation)),
    [1],
  )
  const [setPtracer, setVma] = [0x59616d61, 0x53564d41]
  assert.deepEqual([isCallAllowed("prctl", setPtracer), isCallAllowed("prctl", setVma)], [true, true])
  assert.ok(!isCallAllowed("setsockopt", 0, socketLevel + beyondHalf, 26 + beyondHalf))
})

test("Quayside's own profile lets a call wait for 1,024 descriptors, and answers as the kernel does beyond", () => {
  const most = bounds.containers.awaitedFiles.value
  for (const name of ["select", "pselect6"])
    assert.deepEqual([isCallAllowed(name, most), isCallAllowed(name, most + 1), isCallAllowed(name, beyondHalf)], [true, false, false])
  for (const name of ["poll", "ppoll"])
    assert.deepEqual(
      [isCallAllowed(name, 0, most), isCallAllowed(name, 0, most + 1), isCallAllowed(name, 0, beyondHalf)],
      [true, false, false],
    )
  const beyond = own.syscalls.filter(({ args }) => args?.some(({ op }) => op === "SCMP_CMP_GT"))
  assert.deepEqual(
    beyond.map(({ action, errnoRet, args }) => [action, errnoRet, args?.map(({ index, value }) => [index, value])]),
    [
      ["SCMP_ACT_ERRNO", 22, [[1, most]]],
      ["SCMP_ACT_ERRNO", 22, [[0, most]]],
    ],
  )
})

test("an administrator's profile is used unchanged", () => {
  const profile = { defaultAction: "SCMP_ACT_ERRNO", syscalls: [{ names: ["read"], action: "SCMP_ACT_ALLOW" }] }
  assert.deepEqual(JSON.parse(loadSeccompProfile(fileOf(profile))), profile)
})

test("an invalid or permissive profile is rejected with an explanation", () => {
  const rule = { names: ["read"], action: "SCMP_ACT_ALLOW" }
  for (const word of ["unconfined", "default", "runtime/default"])
    assert.throws(() => loadSeccompProfile(word), { message: new RegExp(`must name a JSON file .*"${word}" is not a file`) })
  assert.throws(() => loadSeccompProfile(join(folder, "none.json")), { message: /none.json" cannot be read \(ENOENT/ })
  const faults: [content: unknown, RegExp][] = [
    ["{", /is not JSON/],
    [[], /must contain a JSON object/],
    [{ syscalls: [rule] }, /has no `defaultAction`/],
    [{ defaultAction: "SCMP_ACT_ALLOW", syscalls: [rule] }, /allows every call that it does not name/],
    [{ defaultAction: "SCMP_ACT_LOG", syscalls: [rule] }, /allows every call that it does not name/],
    [{ defaultAction: "SCMP_ACT_ERRNO", syscalls: [] }, /has no list `syscalls`/],
    [{ defaultAction: "SCMP_ACT_ERRNO", syscalls: [rule, { names: [] }] }, /has a rule \(number 2\)/],
  ]
  for (const [content, message] of faults) assert.throws(() => loadSeccompProfile(fileOf(content)), { message })
})
