import type { Cli } from "../io/cli.ts"
import { CliError } from "../io/failures.ts"

export async function loginByBrowser(
  _cli: Cli,
  baseUrl: string,
  _options: { device: string; opensBrowser: boolean },
): Promise<{ text: string; id?: number }> {
  throw new CliError(`Create a token at ${baseUrl}/ui/me, and sign in with --token-stdin.`)
}
