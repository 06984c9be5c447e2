/** The files of a zip. Read in this thread: workers would need a hole in the page's policy. */
import { part } from "../../../data/part.ts";
import { type Files, withoutFolder } from "./dropped.ts";
import { UncheckableError } from "./report.ts";

/** Bytes, unpacked: what a browser holds without trouble. A larger pack is dropped as its folder. */
const MOST_BYTES = 1024 * 1024 * 1024;

const fflate = part(() => import("fflate"));

/** @throws UncheckableError when it is damaged or too large */
export const unzipped = async (zip: Blob): Promise<Files> => {
  const { unzipSync } = await fflate.load();
  let total = 0;
  let count = 0;
  try {
    const files = unzipSync(new Uint8Array(await zip.arrayBuffer()), {
      filter: ({ name, originalSize }) => {
        total += originalSize;
        if (total > MOST_BYTES) {
          throw new UncheckableError(
            "The zip is too large for a browser. Drop the unpacked folder.",
          );
        }
        const isTaken = !name.endsWith("/") && !name.startsWith("__MACOSX/");
        if (isTaken) count += 1;
        return isTaken;
      },
    });
    if (Object.keys(files).length !== count) {
      throw new UncheckableError(
        "The zip has a file twice: another program may unpack the other one.",
      );
    }
    return withoutFolder(
      new Map(
        Object.entries(files).map(([name, bytes]) => [name, new Blob([new Uint8Array(bytes)])]),
      ),
    );
  } catch (error) {
    if (error instanceof UncheckableError) throw error;
    throw new UncheckableError("The zip is damaged: it cannot be unpacked.");
  }
};
