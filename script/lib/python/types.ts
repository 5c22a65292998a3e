import type { JsonSchema } from "#contract"

/** Plain names for the structures of the API. */
const shortNames: Readonly<Record<string, string>> = {
  ImageModel: "Image",
  DataModel: "Data",
  ProjectModel: "Project",
  ProjectTrainDataModel: "ProjectData",
}
const refPrefix = "#/components/schemas/"
const maxColumns = 100

/** Python types for JSON schemas: a `TypedDict` for each object that has named properties. */
export class PythonTypes {
  readonly #classes = new Map<string, string>()
  readonly #known: ReadonlySet<string>

  /** `known` has the names of the description's structures; others must not be referred to. */
  constructor(known: Iterable<string>) {
    this.#known = new Set(known)
  }

  /** The expression of a schema's type. `name` names the class, if the schema needs one. */
  typeOf(schema: JsonSchema, name: string): string {
    const { $ref, anyOf, type, properties, items, additionalProperties } = schema as {
      $ref?: string
      anyOf?: JsonSchema[]
      type?: string | string[]
      properties?: Record<string, JsonSchema>
      items?: JsonSchema
      additionalProperties?: JsonSchema | boolean
    }
    if ($ref && !this.#known.has($ref.slice(refPrefix.length))) throw new Error(`The description lacks ${$ref}`)
    if ($ref) return className($ref.slice(refPrefix.length))
    if (type === "object" && properties) return this.#addClass(schema, name)
    if (anyOf) return [...new Set(anyOf.map((each, i) => this.typeOf(each, i === 0 ? name : `${name}${i + 1}`)))].join(" | ")
    if (Array.isArray(type)) return type.map((each) => this.typeOf({ ...schema, type: each }, name)).join(" | ")
    const values = (schema.enum ?? (schema.const === undefined ? undefined : [schema.const])) as unknown[] | undefined
    if (values?.every((each) => typeof each !== "object") && type !== "null") return `Literal[${values.map(literal).join(", ")}]`
    if (type === "array") return `list[${this.typeOf(items ?? {}, `${name}Item`)}]`
    if (type === "object" && typeof additionalProperties === "object")
      return `dict[str, ${this.typeOf(additionalProperties, `${name}Value`)}]`
    return { string: "str", integer: "int", number: "float", boolean: "bool", null: "None", object: "dict[str, Any]" }[type ?? ""] ?? "Any"
  }

  /** The classes in the order of their need. */
  get classes(): string {
    return [...this.#classes.values()].join("\n\n")
  }

  #addClass({ properties = {}, required = [], description }: JsonSchema, name: string): string {
    const lines = Object.entries(properties as Record<string, JsonSchema>).flatMap(([key, schema]) => {
      const type = this.typeOf(schema, `${name}${capitalized(key)}`)
      const isRequired = (required as readonly string[]).includes(key)
      return [...comment(schema.description), `    ${key}: ${isRequired ? type : `NotRequired[${type}]`}`]
    })
    const doc = description ? docstring(String(description), "    ") : []
    const text = [`class ${name}(TypedDict):`, ...doc, ...(lines.length > 0 ? lines : ["    pass"]), ""].join("\n")
    const known = this.#classes.get(name)
    if (known !== undefined && known !== text) throw new Error(`Two structures would have the name ${name}`)
    this.#classes.set(name, text)
    return name
  }
}

export const className = (name: string) => shortNames[name] ?? name
export const capitalized = (name: string) => name.slice(0, 1).toUpperCase() + name.slice(1)

function literal(value: unknown): string {
  return typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value)
}

function comment(description: unknown): string[] {
  return description ? wrap(String(description), "    # ") : []
}

export function docstring(text: string, indent: string): string[] {
  const sentence = `${capitalized(text).replaceAll("\\", "\\\\")}${/[.!?]$/.test(text) ? "" : "."}`
  const lines = wrap(sentence, indent)
  const [first = ""] = lines
  lines[0] = `${indent}"""${first.slice(indent.length)}`
  if (lines.length > 1 || first.length + 6 > maxColumns) return [...lines, `${indent}"""`, ""]
  return [`${lines[0]}"""`, ""]
}

function wrap(text: string, indent: string): string[] {
  const lines: string[] = []
  let line = indent.trimEnd()
  for (const word of text.split(/\s+/)) {
    const gap = lines.length === 0 && line === indent.trimEnd() ? indent.slice(line.length) : " "
    const longer = line === indent.trimEnd() ? `${indent}${word}` : `${line}${gap}${word}`
    if (longer.length > maxColumns - 4 && line !== indent.trimEnd()) {
      lines.push(line)
      line = `${indent}${word}`
    } else line = longer
  }
  return [...lines, line]
}
