import "../style/tokens.css"
import "../style/base.css"
import "../style/layout.css"
import "../style/controls.css"
import "../style/content.css"
import "../style/overlays.css"
import { CSPProvider } from "@base-ui/react/csp-provider"
import { QueryClientProvider } from "@tanstack/react-query"
import { RouterProvider } from "@tanstack/react-router"
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { installation } from "../api/installation.ts"
import { apiQuery, queryClient } from "../api/queries.ts"
import { Toasts } from "../components/toast.tsx"
import { router } from "./router.tsx"
import { applyTheme } from "./theme.ts"

applyTheme()

// The page carries the answer to the first question.
if (installation.signedIn) queryClient.setQueryData(apiQuery("whoami").queryKey, installation.signedIn.person)

const root = document.querySelector("#root")
if (!root) throw new Error("The page has no #root")
createRoot(root).render(
  <StrictMode>
    {/* The policy of the page allows no inline style elements. */}
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
        <Toasts />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)
