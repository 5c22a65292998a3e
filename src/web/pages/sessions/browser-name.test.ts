import assert from "node:assert/strict"
import { test } from "node:test"
import { browserName } from "./browser-name.ts"

const webKit = "AppleWebKit/537.36 (KHTML, like Gecko)"

test("browsers are told apart although they carry each other's names", () => {
  for (const [userAgent, browser, system] of [
    ["Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0", "Firefox", "Linux"],
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webKit} Chrome/142.0.0.0 Safari/537.36`, "Chrome", "Windows"],
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webKit} Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0`, "Edge", "Windows"],
    [`Mozilla/5.0 (Linux; Android 10; K) ${webKit} Chrome/142.0.0.0 Mobile Safari/537.36`, "Chrome", "Android"],
    [`Mozilla/5.0 (X11; Linux x86_64) ${webKit} HeadlessChrome/142.0.0.0 Safari/537.36`, "Chrome", "Linux"],
    [
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
      "Safari",
      "iOS",
    ],
    [
      "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15",
      "Safari",
      "macOS",
    ],
    ["Firefox/144.0", "Firefox", undefined],
  ] as const)
    assert.deepEqual(browserName(userAgent), { browser, system }, userAgent)
})

test("a program that is no known browser has no name", () => {
  for (const userAgent of ["", "curl/8.14.1", "Mozilla/5.0 (X11; Linux x86_64)", "<b>Firefox</b>"])
    assert.equal(browserName(userAgent), undefined, userAgent)
})
