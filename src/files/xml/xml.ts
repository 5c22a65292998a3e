import { SaxesParser, type SaxesTagNS } from "saxes"
import { bounds, Failure } from "#contract"
import { invalid } from "../failures.ts"

export const davNamespace = "DAV:"
const { xmlLevels, xmlElements, xmlAttributes, nameCharacters, namespaceCharacters } = bounds.files

export interface XmlElement {
  ns: string
  name: string
  attributes: { ns: string; name: string; value: string }[]
  children: (XmlElement | string)[]
}

/**
 * Parses a body with namespaces and without a DTD. Levels, elements, attributes and the length of
 * names are bounded.
 */
export function parseXml(body: Buffer): XmlElement {
  const parser = new SaxesParser({ xmlns: true, position: false })
  const open: XmlElement[] = []
  let root: XmlElement | undefined
  let count = 0
  parser.on("doctype", () => refuse("a document type declaration is not allowed"))
  parser.on("error", (error) => refuse(error.message))
  parser.on("opentag", (tag) => {
    count += 1
    if (count > xmlElements.value) refuse(`it may have ${xmlElements.value} elements`)
    const element = elementOf(tag)
    open.at(-1)?.children.push(element)
    root ??= element
    open.push(element)
    if (open.length > xmlLevels.value) refuse(`elements may be nested ${xmlLevels.value} deep`)
  })
  parser.on("closetag", () => open.pop())
  parser.on("text", (text) => open.at(-1)?.children.push(text))
  parser.on("cdata", (text) => open.at(-1)?.children.push(text))
  parser.write(decode(body)).close()
  return root ?? refuse("there is no element")
}

function elementOf(tag: SaxesTagNS): XmlElement {
  const attributes = Object.values(tag.attributes)
  if (attributes.length > xmlAttributes.value) refuse(`an element may have ${xmlAttributes.value} attributes`)
  for (const { uri, local } of [tag, ...attributes]) checkName(uri, local)
  const own = attributes.filter(({ uri }) => uri !== "http://www.w3.org/2000/xmlns/")
  return { ns: tag.uri, name: tag.local, attributes: own.map(({ uri, local, value }) => ({ ns: uri, name: local, value })), children: [] }
}

function checkName(ns: string, name: string): void {
  if (name.length > nameCharacters.value) refuse(`a name may have ${nameCharacters.value} characters; one has ${name.length}`)
  if (ns.length > namespaceCharacters.value) refuse(`a namespace may have ${namespaceCharacters.value} characters; one has ${ns.length}`)
}

function refuse(why: string): never {
  throw invalid(`The body is no acceptable XML: ${why}`)
}

function decode(body: Buffer): string {
  const wide = body[0] === 0xff && body[1] === 0xfe ? "utf-16le" : body[0] === 0xfe && body[1] === 0xff ? "utf-16be" : "utf-8"
  try {
    return new TextDecoder(wide, { fatal: true }).decode(body)
  } catch {
    throw new Failure("invalid", "The body's XML is neither UTF-8 nor UTF-16")
  }
}

export function childElements(element: XmlElement): XmlElement[] {
  return element.children.filter((child) => typeof child !== "string")
}

export function findChild(element: XmlElement, ns: string, name: string): XmlElement | undefined {
  return childElements(element).find((one) => one.ns === ns && one.name === name)
}

export function isDavElement(element: XmlElement, name: string): boolean {
  return element.ns === davNamespace && element.name === name
}

export function escapeXml(text: string): string {
  return special.test(text) ? text.replace(specials, (c) => entities[c] ?? "\ufffd") : text
}
// File names may contain control characters; XML 1.0 may not, in any form.
const special = /[&<>"\p{Cc}\ufffe\uffff]/u
const specials = /[&<>"\p{Cc}\ufffe\uffff]/gu
const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\t": "&#9;",
  "\n": "&#10;",
  "\r": "&#13;",
}

/** An empty element of that name, which represents a property in a response. */
export function emptyElementXml(ns: string, name: string): string {
  if (ns === davNamespace) return `<D:${name}/>`
  return ns === "" ? `<${name}/>` : `<x:${name} xmlns:x="${escapeXml(ns)}"/>`
}

/**
 * Serializes an element for any place in a response, where `D:` is DAV's prefix. The element
 * declares each namespace once, however often it is used inside. So the text grows no faster than
 * the input.
 */
export function serializeXml(element: XmlElement): string {
  const prefixes = new Map<string, string>()
  gatherNamespaces(element, prefixes)
  const declarations = [...prefixes].map(([ns, prefix]) => ` xmlns:${prefix}="${escapeXml(ns)}"`).join("")
  return textOf(element, prefixes, declarations)
}

function gatherNamespaces({ ns, attributes, children }: XmlElement, prefixes: Map<string, string>): void {
  for (const each of [ns, ...attributes.map((attribute) => attribute.ns)]) {
    if (["", davNamespace, xmlNamespace].includes(each) || prefixes.has(each)) continue
    prefixes.set(each, prefixes.size === 0 ? "x" : `x${prefixes.size}`)
  }
  for (const each of children) if (typeof each !== "string") gatherNamespaces(each, prefixes)
}

function textOf({ ns, name, attributes, children }: XmlElement, prefixes: ReadonlyMap<string, string>, declarations = ""): string {
  const tag = qualified(ns, name, prefixes)
  const more = attributes.map((one) => ` ${qualified(one.ns, one.name, prefixes)}="${escapeXml(one.value)}"`).join("")
  const start = `<${tag}${declarations}${more}`
  if (children.length === 0) return `${start}/>`
  const content = children.map((one) => (typeof one === "string" ? escapeXml(one) : textOf(one, prefixes))).join("")
  return `${start}>${content}</${tag}>`
}

const xmlNamespace = "http://www.w3.org/XML/1998/namespace"

function qualified(ns: string, name: string, prefixes: ReadonlyMap<string, string>): string {
  if (ns === "") return name
  if (ns === davNamespace) return `D:${name}`
  return ns === xmlNamespace ? `xml:${name}` : `${prefixes.get(ns)}:${name}`
}
