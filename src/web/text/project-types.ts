import type { ProjectType } from "#contract"

export const projectTypes: { readonly [Type in ProjectType]: string } = {
  jupyter: "Jupyter",
  jupyterlab: "JupyterLab",
  jupyternotebook: "Jupyter Notebook",
  novnc: "Desktop (noVNC)",
  vscode: "VS Code",
  http: "Other web program",
}
