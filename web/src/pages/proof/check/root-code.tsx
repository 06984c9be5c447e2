/** The root of a checked file as a QR code: a reader of the paper gets the digits without typing them. */
import { part, usePart } from "../../../data/part.ts";

const codes = part(() => import("uqr"));

/** Modules of the quiet zone around the code, as its standard asks. */
const BORDER = 4;

export const RootCode = ({ root }: { readonly root: string }) => {
  const now = usePart(codes);
  return (
    <figure className="w-36">
      <div className="aspect-square rounded-md bg-white">
        {now.state === "loaded" ? (
          <Squares {...now.module.encode(root, { ecc: "M", border: BORDER })} />
        ) : null}
      </div>
      <figcaption className="mt-1 text-center text-xs text-muted">The root, to scan</figcaption>
    </figure>
  );
};

const Squares = ({
  data,
  size,
}: {
  readonly data: readonly (readonly boolean[])[];
  readonly size: number;
}) => (
  <svg
    role="img"
    aria-label="QR code of the root"
    viewBox={`0 0 ${size} ${size}`}
    shapeRendering="crispEdges"
    className="size-full text-black"
  >
    <path
      fill="currentColor"
      d={data
        .flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : "")))
        .join("")}
    />
  </svg>
);
