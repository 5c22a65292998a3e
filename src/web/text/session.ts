export const session = {
  title: "Sign in to Quayside",
  pageTitle: "Sign in",
  userName: "User name",
  password: "Password",
  signIn: "Sign in",
  wrongHint: "Type both again, or ask an administrator for a new password.",
  signInWith: (provider: string) => `Sign in with ${provider}`,
  signOut: "Sign out",
  signOutEverywhere: "Sign out everywhere",
  expiredTitle: "Sign in again",
  expiredText: "Your session is over. Sign in, and this page goes on as it is.",
}
