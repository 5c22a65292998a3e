// The parts of dockerode that stand on docker-modem alone. Its types describe the whole only.
declare module "dockerode/lib/*.js" {
  const part: new (modem: import("docker-modem"), id: string) => unknown
  // biome-ignore lint/style/noDefaultExport: a CommonJS module has no other
  export default part
}
