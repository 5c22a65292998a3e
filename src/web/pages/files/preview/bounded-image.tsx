import { useEffect, useState } from "react"
import { files } from "../../../text/files.ts"

/** A browser takes four bytes for each pixel of an image that it draws, however small the file. */
const maxPixels = 64_000_000

/** An image of somebody else's, unless it has too many pixels. */
export function BoundedImage({ src, alt }: { src: string; alt: string }) {
  const [checked, setChecked] = useState<{ src: string; isTooLarge: boolean }>()
  useEffect(() => {
    // An image that is not in the page is not drawn.
    const image = new Image()
    image.onload = () => setChecked({ src, isTooLarge: image.naturalWidth * image.naturalHeight > maxPixels })
    image.onerror = () => setChecked({ src, isTooLarge: false })
    image.src = src
    return () => {
      image.onload = image.onerror = null
    }
  }, [src])
  if (checked?.src !== src) return null
  if (checked.isTooLarge) return <span className="quiet">{files.preview.tooManyPixels(alt)}</span>
  return <img className="preview-image" src={src} alt={alt} />
}
