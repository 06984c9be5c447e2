/** The files of a pack, and the text of its manifest. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { canonicalJson } from "../../client/canonical-json.mjs";
import { FILES, type Manifest } from "./pack-form.ts";

/** SHA-256 and size of a file. */
export const hashed = async (path: string): Promise<Manifest["files"][string]> => {
  const hash = createHash("sha256");
  let size = 0n;
  await pipeline(createReadStream(path), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      hash.update(chunk);
      size += BigInt(chunk.length);
    }
  });
  return { sha256: hash.digest("hex"), size };
};

/** Files of a pack, manifest and signature left out, with `/` between folder and name; ascending. */
export const filesOf = async (folder: string): Promise<readonly string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) =>
      join(parentPath, name).slice(join(folder, "/").length).replaceAll(sep, "/"),
    )
    .filter((file) => file !== FILES.manifest && file !== FILES.signature)
    .sort();
};

/** RFC 8785, whole numbers as texts. */
export const manifestText = (manifest: Manifest): string =>
  canonicalJson(
    JSON.parse(
      JSON.stringify(manifest, (_name, value: unknown) =>
        typeof value === "bigint" ? value.toString() : value,
      ),
    ),
  );
