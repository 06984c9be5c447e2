import { isAllDemo } from "../service/demo.ts";
import { makeDemoLink } from "../service/demo-link.ts";
import { keptStartKey } from "../service/kept-keys.ts";
import { printLines, tellLines } from "./output.ts";
import { openRuntime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

/** Prints another link to the page of a demo that runs. */
export const printDemoLink = async ({ url }: { readonly url?: string }): Promise<void> => {
  const { config } = await openRuntime();
  if (!isAllDemo(config)) {
    throw new UsageError(
      "only the demo ledger's page has such links; elsewhere, sign in with a key",
    );
  }
  if ((await keptStartKey(config)) === undefined) {
    throw new UsageError("there is no key to lend: start the demo first, with `npm start`");
  }
  const link = await makeDemoLink(config, originOf(url, config.port));
  tellLines("opens the page signed in, once; links made before open nothing any more");
  printLines([link]);
};

const originOf = (given: string | undefined, port: number): string => {
  if (given === undefined) {
    if (port !== 0) return `http://localhost:${port}`;
    throw new UsageError("PORT is 0: say where the service listens, with --url http://localhost:…");
  }
  const { protocol = "", origin = "" } = URL.parse(given) ?? {};
  if (/^https?:$/.test(protocol)) return origin;
  throw new UsageError(`--url must be the address of the service, such as http://localhost:4000`);
};
