import { useEffect, useState } from "react"

/** An address of these bytes as this type, while the component is rendered. */
export function useObjectUrl(blob: Blob, type: string): string | undefined {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([blob], { type }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [blob, type])
  return url
}
