export { controlPath, controlUrl, isControllable } from "./address.ts"
export { type Control, type ControlUpgrade, createControl } from "./control.ts"
