import { PAGE, performancePage } from "../../bench/page.ts";
import { pagesOfCode } from "./pages.ts";
import { vectorFiles } from "./vectors/files.ts";

/** Everything that is generated from the tree alone: the pages, the table of the newest figures, and the test vectors. */
export const filesOfCode = async (root: string): Promise<ReadonlyMap<string, string>> =>
  new Map([
    ...(await pagesOfCode(root)),
    [PAGE, await performancePage(root)],
    ...(await vectorFiles()),
  ]);
