import type { Page } from "playwright-core"

/** Runs the sample's notebook in JupyterLab, until it shows the rows of its dataset and a plot. */
export async function runSampleNotebook(page: Page): Promise<void> {
  const file = page.locator(".jp-DirListing-item", { hasText: "penguins.ipynb" })
  await file.dblclick({ timeout: 60_000 })
  await page.locator(".jp-Notebook .jp-CodeCell").first().waitFor({ timeout: 60_000 })
  // JupyterLab loses what is run before the kernel is connected.
  await page.getByText("Python 3 (ipykernel) | Idle").waitFor({ timeout: 60_000 })
  await page.getByRole("menuitem", { name: "Run", exact: true }).click()
  await page.getByRole("menuitem", { name: "Run All Cells", exact: true }).click()
  await page.locator(".jp-OutputArea-output", { hasText: "344 rows" }).waitFor({ timeout: 90_000 })
  await page.locator(".jp-OutputArea-output", { hasText: "Adelie, Torgersen, 39.1" }).waitFor()
  await page.locator(".jp-OutputArea-output img").waitFor({ timeout: 60_000 })
}
