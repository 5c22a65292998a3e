export { controlPath, controlUrl, isControllable } from "./address.ts"
export { type ControlServer, type ControlUpgrade, createControlServer } from "./control-server.ts"
