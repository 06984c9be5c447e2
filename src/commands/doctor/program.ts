/** Checks the version, Node, and the page. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { VERSION } from "../../telemetry/version.ts";
import { type Finding, ok, warn } from "./finding.ts";

const ROOT = new URL("../../../", import.meta.url);

export const checkProgram = (): readonly Finding[] => {
  const running = process.versions.node;
  const pinned = pinnedNode();
  const node =
    majorOf(running) === majorOf(pinned)
      ? ok(`holderbook ${VERSION} on Node ${running}`)
      : warn(
          `holderbook ${VERSION} on Node ${running}, but tested on ${pinned}`,
          "start it with `node bin/holderbook.mjs`, which uses the tested Node",
        );
  const page = existsSync(fileURLToPath(new URL("web/dist/index.html", ROOT)));
  return [node, ...(page ? [] : [warn("the page has not been built", "run `npm run web`")])];
};

const majorOf = (version: string): string => version.split(".")[0] ?? "";

const pinnedNode = (): string => {
  const { dependencies }: { readonly dependencies: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync(new URL("package.json", ROOT), "utf8"),
  );
  return dependencies.node ?? "";
};
