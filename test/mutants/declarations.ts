import type { Node, SourceFile } from "typescript/unstable/ast"
import {
  isBlock,
  isClassLikeDeclaration,
  isComputedPropertyName,
  isConstructorDeclaration,
  isFunctionLikeDeclaration,
  isPropertyAssignment,
  isPropertyDeclaration,
  isVariableDeclaration,
} from "typescript/unstable/ast/is"
import { API } from "typescript/unstable/sync"

/** A part of a file's text. */
export interface Range {
  start: number
  end: number
}

/** A named function, method, constant or property. */
export interface Declaration {
  /** With the names of the declarations around it: `Class.#method`, `makeThing.run`. */
  name: string
  isFunction: boolean
  whole: Range
  /** A function's text between its braces, or the value of a constant or property. */
  body: Range
}

/** Calls `work` with a function that lists the declarations in a file of either project. */
export function withDeclarations<T>(root: string, work: (declarationsIn: (file: string) => readonly Declaration[]) => T): T {
  const api = new API({ cwd: root })
  try {
    const projectAt = (config: string) => {
      const openProject = `${root}/${config}`
      return api
        .updateSnapshot({ openProject })
        .getProjects()
        .find(({ configFileName }) => configFileName === openProject)
    }
    const server = projectAt("tsconfig.json")
    const web = projectAt("src/web/tsconfig.json")
    const known = new Map<string, Declaration[]>()
    return work((file) => {
      const declarations =
        known.get(file) ?? listDeclarations((file.startsWith("src/web/") ? web : server)?.program.getSourceFile(`${root}/${file}`))
      known.set(file, declarations)
      return declarations
    })
  } finally {
    api.close()
  }
}

function listDeclarations(source: SourceFile | undefined): Declaration[] {
  const found: Declaration[] = []
  const visit = (node: Node, around: EnclosingNames): void => {
    const value = namedValueOf(node)
    const isFunction = isFunctionLikeDeclaration(value ?? node)
    const names = value === undefined ? around.names : [...around.names, nameOf(node)]
    // A variable within a function counts only where it is a function.
    const counts = value !== undefined && (isFunction || !around.isFunction)
    if (source && counts && !isClassLikeDeclaration(value)) {
      const whole = { start: node.getStart(source), end: node.end }
      found.push({ name: names.join("."), isFunction, whole, body: bodyOf(value, source) })
    }
    const inside = { names: counts ? names : around.names, isFunction: isFunction || around.isFunction }
    node.forEachChild((child) => visit(child, inside))
  }
  source?.forEachChild((child) => visit(child, { names: [], isFunction: false }))
  return found
}

interface EnclosingNames {
  names: readonly string[]
  /** Whether a function is among them. */
  isFunction: boolean
}

/** The function, class or value that a node gives a name to. */
function namedValueOf(node: Node): Node | undefined {
  if (isConstructorDeclaration(node)) return node
  if (nameOf(node) === "") return undefined
  if (isClassLikeDeclaration(node)) return node
  if (isFunctionLikeDeclaration(node)) return "body" in node && node.body ? node : undefined
  if (!isVariableDeclaration(node) && !isPropertyDeclaration(node) && !isPropertyAssignment(node)) return undefined
  return node.initializer
}

function nameOf(node: Node): string {
  if (isConstructorDeclaration(node)) return "constructor"
  const name = "name" in node ? (node.name as Node | undefined) : undefined
  if (name === undefined) return ""
  if (isComputedPropertyName(name)) return name.getText()
  return "text" in name && typeof name.text === "string" ? name.text : ""
}

function bodyOf(value: Node, source: SourceFile): Range {
  const body = isFunctionLikeDeclaration(value) && "body" in value && value.body ? (value.body as Node) : value
  const [start, end] = [body.getStart(source), body.end]
  return isBlock(body) ? { start: start + 1, end: end - 1 } : { start, end }
}
