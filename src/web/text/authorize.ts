export const authorize = {
  title: "Sign in a program",
  program: "Program and machine",
  person: "It acts as",
  everything: "Read and change all that you may, until you revoke its token",
  warning: "Allow it only if you have just called “quayside login” on this machine.",
  deny: "Deny",
  allow: "Allow",
  incomplete: "No program asks for anything here. Call “quayside login” again.",
}
