/** The page after signing in: only one of this service, since anybody can write this address. */
function nextPath() {
  const next = new URLSearchParams(location.search).get("next") ?? "/ui/"
  const url = new URL(next, location.origin)
  return url.origin === location.origin && next.startsWith("/") ? url.href : "/ui/"
}

const form = document.querySelector("form")
const error = document.querySelector(".error")
form.elements.UserName.focus()
form.addEventListener("submit", async (event) => {
  event.preventDefault()
  const button = form.querySelector("button")
  button.disabled = true
  error.textContent = ""
  try {
    const response = await fetch("/session", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(Object.fromEntries(new FormData(form))),
    })
    if (response.ok) return location.replace(nextPath())
    error.textContent = (await response.json()).msg
  } catch {
    error.textContent = "The server cannot be reached."
  }
  button.disabled = false
})

const openid = document.querySelector("#openid")
if (openid && new URLSearchParams(location.search).has("next")) {
  openid.search = new URLSearchParams({ next: new URLSearchParams(location.search).get("next") })
}
