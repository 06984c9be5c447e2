import { pagesOfCode } from "./pages.ts";
import { vectorFiles } from "./vectors/files.ts";

/** Everything that is generated from the code alone: the pages, and the test vectors. */
export const filesOfCode = async (root: string): Promise<ReadonlyMap<string, string>> =>
  new Map([...(await pagesOfCode(root)), ...(await vectorFiles())]);
