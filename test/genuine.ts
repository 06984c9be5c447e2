/** The network's own checkpoints, as `test/fixtures/checkpoints/` keeps them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { RawCheckpoint } from "../src/ledger/decode/checkpoint.ts";
import { asProtobuf } from "./ledger/as-protobuf.ts";

/** Where they are: `<sequence>.chk`. */
export const GENUINE_FOLDER = join(import.meta.dirname, "fixtures", "checkpoints");

/** Names of the files. */
export const genuineFiles = readdirSync(GENUINE_FOLDER).filter((name) => name.endsWith(".chk"));

/** Names of those whose content an independent decoder has printed. */
export const genuineExpected = readdirSync(join(GENUINE_FOLDER, "expected")).map((name) =>
  name.replace(".json.gz", ".chk"),
);

/** What that decoder printed of one: a line of JSON. */
export const expectedOf = (file: string): string => {
  const name = file.replace(".chk", ".json.gz");
  return gunzipSync(readFileSync(join(GENUINE_FOLDER, "expected", name)))
    .toString()
    .trimEnd();
};

/** One of them in both encodings. */
export const genuineCheckpoint = (
  file: string,
): { readonly bcs: RawCheckpoint; readonly protobuf: RawCheckpoint } => {
  const sequence = BigInt(file.slice(0, -".chk".length));
  // The first byte tells the encoding of the rest.
  const bytes = readFileSync(join(GENUINE_FOLDER, file)).subarray(1);
  return {
    bcs: { sequence, encoding: "bcs", bytes },
    protobuf: { sequence, encoding: "protobuf", bytes: asProtobuf(bytes) },
  };
};
