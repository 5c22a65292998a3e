import type { Bounds } from "./bound.ts"

/** Files (WebDAV). */
export const files = {
  xmlBytes: {
    what: "XML body of PROPFIND, PROPPATCH and LOCK",
    value: 65_536,
    unit: "bytes",
    per: "request",
    beyond: "413 `too_large`",
  },
  xmlLevels: { what: "Depth of an XML body", value: 32, unit: "levels", per: "request", beyond: "400 `invalid`" },
  xmlElements: {
    what: "Elements of an XML body",
    value: 2_048,
    unit: "count",
    per: "request",
    beyond: "400 `invalid`",
  },
  xmlAttributes: {
    what: "Attributes of one element of an XML body",
    value: 64,
    unit: "count",
    per: "element",
    beyond: "400 `invalid`",
  },
  nameCharacters: {
    what: "Name of an XML element or attribute",
    value: 255,
    unit: "characters",
    per: "name",
    beyond: "400 `invalid`",
  },
  namespaceCharacters: {
    what: "XML namespace",
    value: 1_024,
    unit: "characters",
    per: "namespace",
    beyond: "400 `invalid`",
  },
  propertyNames: {
    what: "Properties that a PROPFIND or PROPPATCH names",
    value: 256,
    unit: "count",
    per: "request",
    beyond: "400 `invalid`",
  },
  serializedBytes: {
    what: "XML that is written from one XML body",
    value: 262_144,
    unit: "bytes",
    per: "request",
    beyond: "413 `too_large`",
  },
  entryBytes: {
    what: "Properties of one entry in a listing",
    value: 524_288,
    unit: "bytes",
    per: "entry",
    beyond: "507 `storage_full` in place of the stored properties that do not fit",
  },
  listingBytes: {
    what: "Answer to a PROPFIND with `Depth: infinity`",
    value: 16 * 1024 * 1024,
    unit: "bytes",
    per: "answer",
    beyond: "403 `forbidden` with `propfind-finite-depth`",
  },
  listingEntries: {
    what: "Entries of a PROPFIND with `Depth: infinity`",
    value: 10_000,
    unit: "count",
    per: "answer",
    beyond: "403 `forbidden` with `propfind-finite-depth`",
  },
  ifLists: {
    what: "Lists of conditions in an `If` header",
    value: 64,
    unit: "count",
    per: "request",
    beyond: "400 `invalid`",
  },
} as const satisfies Bounds
