import { repeated, testLinear } from "../../test/fixtures/linear.ts"
import { Signer } from "./signing.ts"

const signer = new Signer(Buffer.alloc(32), "linear")

testLinear([
  {
    name: "a signed value",
    parse: (value) => signer.verify(value),
    size: 32 * 1024,
    shapes: [repeated("a"), repeated("a."), repeated(".")],
  },
])
