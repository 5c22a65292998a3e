import { useQuery } from "@tanstack/react-query"
import { readFirstBytes } from "../../../api/files-client.ts"
import { BoundedImage } from "./bounded-image.tsx"
import { imagePath } from "./image-path.ts"
import { imageTypeOf } from "./image-types.ts"
import { useObjectUrl } from "./use-object-url.ts"

const maxBytes = 8 * 2 ** 20

/** An image of a dataset's description; undefined if the address is no image in the dataset. */
export function renderDocImage(directory: string, { href, alt }: { href: string; alt: string }) {
  const path = imagePath(directory, href)
  return path && <DocImage path={path} alt={alt} />
}

function DocImage({ path, alt }: { path: string; alt: string }) {
  const { data, isError } = useQuery({
    queryKey: ["file", path],
    queryFn: ({ signal }) => readFirstBytes(path, maxBytes, signal),
    gcTime: 0,
    retry: false,
  })
  if (isError) return <code>{alt || path}</code>
  return data ? <LoadedImage blob={data} type={imageTypeOf(path) ?? ""} alt={alt} /> : null
}

function LoadedImage({ blob, type, alt }: { blob: Blob; type: string; alt: string }) {
  const url = useObjectUrl(blob, type)
  return url ? <BoundedImage src={url} alt={alt} /> : null
}
