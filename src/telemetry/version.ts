import { readFileSync } from "node:fs";

const { version }: { readonly version: string } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
);

/** Version in package.json. */
export const VERSION = version;
