import { fold, indexKey, searchText } from "../fold.ts"

interface Named {
  name: string
  comment: string
}

/** Twins of a row's name and comment, without the differences that sorting and searching ignore. */
export function foldedNames<Row>(of: (row: Row) => Named) {
  return {
    name_fold: (row: Row) => indexKey(fold(of(row).name)),
    search: (row: Row) => {
      const { name, comment } = of(row)
      return searchText(name, comment)
    },
  }
}
