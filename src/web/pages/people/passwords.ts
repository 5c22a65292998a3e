const letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
const length = 16

/**
 * A password that nobody guesses, of characters that are hard to confuse. Bytes beyond the last
 * whole multiple of the alphabet are passed over, so that all characters are equally likely.
 */
export function generatePassword(): string {
  const limit = 256 - (256 % letters.length)
  let password = ""
  while (password.length < length) {
    const [byte = 255] = crypto.getRandomValues(new Uint8Array(1))
    if (byte < limit) password += letters[byte % letters.length]
  }
  return password
}
