/** Writes the reference: `npm run docs`. Starts a demo service for its OpenAPI document. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { filesOfCode } from "./reference/files.ts";
import { openApiDocument } from "./reference/openapi.ts";
import { pagesOfService } from "./reference/pages.ts";

const root = fileURLToPath(new URL("../", import.meta.url));

const described = async () => {
  const folder = await mkdtemp(join(tmpdir(), "holderbook-docs-"));
  const child = spawn(process.execPath, [join(root, "bin", "holderbook.mjs"), "start"], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      PORT: "0",
      DEMO_HISTORY: "20",
      DATA_DIR: folder,
    },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = once(child, "exit");
  try {
    let printed = "";
    for await (const chunk of child.stdout) {
      printed += String(chunk);
      const url = /Health +(http:\S+)\/health/.exec(printed)?.[1];
      if (url === undefined) continue;
      return openApiDocument.parse(await (await fetch(`${url}/openapi.json`)).json());
    }
    throw new Error("the service ended before it served");
  } finally {
    child.kill("SIGTERM");
    await ended;
    await rm(folder, { recursive: true, force: true });
  }
};

for (const [path, text] of [...(await filesOfCode(root)), ...pagesOfService(await described())]) {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
  process.stderr.write(`${path}\n`);
}
