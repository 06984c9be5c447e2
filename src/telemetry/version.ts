import { readFileSync } from "node:fs";

const { version }: { readonly version: string } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
);

/** Version of the package, as its package.json says. */
export const VERSION = version;
