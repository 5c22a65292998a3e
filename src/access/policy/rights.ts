/**
 * A person's relation to a resource. `owner`: it belongs to them (a run to its starter, a person's
 * account, tokens and sessions to the person). `write`, `use`, `read`: granted. `projectOwner`: a
 * run of their project by somebody else. `administrator`: they administer. `anyone`: they are
 * signed in.
 */
export const relations = ["owner", "write", "use", "read", "projectOwner", "administrator", "anyone"] as const
export type Relation = (typeof relations)[number]

/** A set of relations, one bit each: the policy tests them for every row of a list. */
export type RelationBits = number

export function relationBits(...of: readonly Relation[]): RelationBits {
  return of.reduce((bits, each) => bits | (1 << relations.indexOf(each)), 0)
}

export interface Right {
  /** The scope that a credential needs for it. */
  scope: "read" | "write"
  /** One of these relations is enough. */
  who: readonly Relation[]
  /** The same as bits. */
  bits: RelationBits
  /** Set for actions on deleted resources: only these still find them. */
  deleted?: true
}

const read = (...who: Relation[]): Right => ({ scope: "read", who, bits: relationBits(...who) })
const write = (...who: Relation[]): Right => ({ scope: "write", who, bits: relationBits(...who) })
const onDeleted = (right: Right): Right => ({ ...right, deleted: true })

/**
 * The rights that images, datasets and projects share. `refer`: being shown inside another object,
 * deleted or not.
 */
const shared = {
  list: read("anyone"),
  create: write("owner", "administrator"),
  read: read("owner", "write", "use", "read", "administrator"),
  refer: onDeleted(read("owner", "write", "use", "read", "administrator")),
  change: write("owner", "write", "administrator"),
  publish: write("owner", "administrator"),
  delete: write("owner", "administrator"),
  restore: onDeleted(write("owner", "administrator")),
  grant: write("owner", "administrator"),
  transferOwnership: write("administrator"),
} as const

/**
 * The table of rights. An action that is not listed here is allowed to nobody. `docs` and the tests
 * read it too.
 */
export const rights = {
  image: {
    ...shared,
    use: write("owner", "write", "use", "administrator"),
    check: read("owner", "write", "use", "read", "administrator"),
    pull: write("owner", "write", "use", "administrator"),
    trust: write("administrator"),
  },
  data: {
    ...shared,
    change: write("owner", "administrator"),
    readFiles: read("owner", "write", "use", "read", "administrator"),
    writeFiles: write("owner", "write", "administrator"),
  },
  project: {
    ...shared,
    start: write("owner", "write", "use", "administrator"),
    preview: read("owner", "write", "use", "administrator"),
    copy: write("owner", "write", "use", "read", "administrator"),
    release: write("owner", "administrator"),
    trust: write("administrator"),
  },
  run: {
    list: read("anyone"),
    start: write("anyone"),
    preview: read("anyone"),
    read: read("owner", "write", "use", "read", "projectOwner", "administrator"),
    details: read("owner", "write", "use", "read", "administrator"),
    stats: read("owner", "write", "use", "read", "administrator"),
    logs: read("owner", "write"),
    open: write("owner", "write", "use"),
    control: write("owner", "write"),
    keep: write("owner", "write"),
    stop: write("owner", "write", "administrator"),
    repeat: write("owner"),
    grant: write("owner", "administrator"),
  },
  user: {
    list: read("administrator"),
    create: write("administrator"),
    read: read("owner", "administrator"),
    /**
     * People change only the password of their own account; `administer` covers everything else.
     */
    change: write("owner", "administrator"),
    administer: write("administrator"),
    delete: write("administrator"),
  },
  group: {
    list: read("anyone"),
    create: write("administrator"),
    read: read("use", "administrator"),
    change: write("administrator"),
    delete: write("administrator"),
  },
  token: {
    list: read("anyone"),
    create: write("owner"),
    read: read("owner"),
    delete: write("owner"),
  },
  session: {
    list: read("anyone"),
    read: read("owner", "administrator"),
    delete: write("owner", "administrator"),
  },
  grant: {
    list: read("anyone"),
    read: read("owner", "write", "use", "read", "administrator"),
    create: write("anyone"),
    delete: write("anyone"),
  },
  self: {
    read: read("anyone"),
    filesToken: read("anyone"),
  },
  events: { read: read("anyone") },
  capacity: { read: read("anyone") },
  audit: { list: read("administrator") },
  storedImage: { list: read("administrator") },
  idle: { list: read("administrator") },
  settings: { read: read("administrator") },
  metrics: { read: read("administrator") },
} as const satisfies Record<string, Record<string, Right>>

export type ResourceType = keyof typeof rights
export type Action = { [T in ResourceType]: `${T}:${keyof (typeof rights)[T] & string}` }[ResourceType]

const byAction: ReadonlyMap<string, Right> = new Map(
  Object.entries(rights).flatMap(([type, verbs]) => Object.entries(verbs).map(([verb, right]) => [`${type}:${verb}`, right] as const)),
)

/** Every action there is, such as `image:read`. */
export const actions = [...byAction.keys()] as Action[]

/** The table's row; throws if there is no such action. */
export function rightOf(action: Action): Right {
  const right = byAction.get(action)
  if (!right) throw new TypeError(`An action must be listed in the table of rights; got ${JSON.stringify(action)}`)
  return right
}

const toSee: ReadonlyMap<ResourceType, Right | undefined> = new Map(
  (Object.keys(rights) as ResourceType[]).map((type) => [type, byAction.get(`${type}:read`)]),
)

/** The right to see that a resource of this type exists; undefined if that is no secret. */
export function rightToSee(type: ResourceType): Right | undefined {
  return toSee.get(type)
}
