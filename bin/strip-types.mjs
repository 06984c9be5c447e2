/** Strips the types of this package's own files when it is installed below node_modules. */
import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { root } from "./install.mjs";

const own = `${pathToFileURL(root).href}/src/`;

registerHooks({
  load: (url, context, nextLoad) =>
    url.startsWith(own) && url.endsWith(".ts")
      ? {
          format: "module",
          source: stripTypeScriptTypes(readFileSync(fileURLToPath(url), "utf8")),
          shortCircuit: true,
        }
      : nextLoad(url, context),
});
