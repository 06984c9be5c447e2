/** Checks the version, Node, and the page. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { VERSION } from "../../telemetry/version.ts";
import { type Finding, findingsOf } from "./finding.ts";

const ROOT = new URL("../../../", import.meta.url);

export const lookAtProgram = (): readonly Finding[] => {
  const { ok, warn } = findingsOf("program");
  const running = process.versions.node;
  const pinned = pinnedNode();
  const node =
    majorOf(running) === majorOf(pinned)
      ? ok(`holderbook ${VERSION} on Node ${running}`)
      : warn(
          `holderbook ${VERSION} on Node ${running}, and is tested on ${pinned}`,
          "start it with `node bin/holderbook.mjs`, which brings the Node it is tested on",
        );
  const page = existsSync(fileURLToPath(new URL("web/dist/index.html", ROOT)));
  return [node, ...(page ? [] : [warn("the page is not built", "run `npm run web`")])];
};

const majorOf = (version: string): string => version.split(".")[0] ?? "";

const pinnedNode = (): string => {
  const { dependencies }: { readonly dependencies: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync(new URL("package.json", ROOT), "utf8"),
  );
  return dependencies.node ?? "";
};
