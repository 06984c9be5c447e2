/** Strips types from this package's files when installed below node_modules. */
import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { root } from "./install.mjs";

const own = ["src", "demo", "client"].map((folder) => `${pathToFileURL(root).href}/${folder}/`);

registerHooks({
  load: (url, context, nextLoad) =>
    url.endsWith(".ts") && own.some((folder) => url.startsWith(folder))
      ? {
          format: "module",
          source: stripTypeScriptTypes(readFileSync(fileURLToPath(url), "utf8")),
          shortCircuit: true,
        }
      : nextLoad(url, context),
});
