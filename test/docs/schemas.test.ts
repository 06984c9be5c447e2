/** The published JSON Schemas, held against the verifiers: by packs and statements that hold, and by what forgers make of them. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { SCHEMAS } from "../../bin/reference/schemas/files.ts";
import { KEYS } from "../../bin/reference/vectors/vector.ts";
import { certificateFaults } from "../../client/completeness.ts";
import { isBase64 } from "../../client/forms.ts";
import {
  committeeFaults,
  lineFaults,
  manifestFaults,
  rowFaults,
  tableHeadFaults,
} from "../../client/pack-forms.ts";
import { FORGED_ACTS, withActs } from "../evidence/forged-acts.ts";
import { FORGED_FILES } from "../evidence/forged-files.ts";
import { FORGERIES, FORGERIES_OF_WHOLE } from "../evidence/forgeries.ts";
import type { Forgery } from "../evidence/forging.ts";
import { filesOfKept, KEPT, type PackInMemory, signedAnew } from "../evidence/packs.ts";
import { misfits, type SchemaName } from "./published-schemas.ts";

const FOLDER = join(import.meta.dirname, "..", "..", "docs", "reference");

/** A piece of JSON of a pack, and what the client finds wrong with its form. */
type Piece = {
  readonly schema: SchemaName;
  readonly text: string;
  readonly faults: readonly string[];
};

const LINES: Readonly<Record<string, SchemaName>> = {
  "first/state.ndjson": "pack-state",
  "movements.ndjson": "pack-movement",
  "holder-events.ndjson": "pack-holder-event",
  "role-events.ndjson": "pack-role-event",
  "acts.ndjson": "pack-act",
};

const MANIFESTS: Readonly<Record<string, SchemaName>> = {
  1: "pack-manifest-v1",
  2: "pack-manifest-v2",
  3: "pack-manifest-v3",
  4: "pack-manifest-v4",
};

/** The file is compared as a text; its one value is the signature. */
const signatureFaults = (json: unknown): readonly string[] => {
  const { signature } = z.object({ signature: z.unknown() }).parse(json);
  return isBase64(64)(signature) ? [] : ["signature must be base64 of 64 bytes"];
};

/** What is JSON in a pack; what is none is no matter of a schema. */
const piecesOf = (pack: PackInMemory): readonly Piece[] => {
  const pieces: Piece[] = [];
  const add = (
    schema: SchemaName | undefined,
    text: string,
    faultsOf: (json: unknown) => readonly string[],
  ) => {
    try {
      const json: unknown = JSON.parse(text);
      if (schema !== undefined) pieces.push({ schema, text, faults: faultsOf(json) });
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  };
  for (const [path, bytes] of pack) {
    const text = Buffer.from(bytes).toString();
    const lines = text.split("\n").slice(0, -1);
    const schema = LINES[path];
    if (schema !== undefined) {
      for (const line of lines) add(schema, line, (json) => lineFaults(path, json));
    }
    if (path === "manifest.json") {
      const version = /"version":(\d)[^"]*$/.exec(text)?.[1] ?? "";
      add(MANIFESTS[version], text, manifestFaults);
    }
    if (path === "manifest.sig.json") add("pack-signature", text, signatureFaults);
    if (path === "certificate.json") add("completeness", text, certificateFaults);
    if (path === "committee.json") add("pack-committee", text, committeeFaults);
    if (path.endsWith("cap-table.json")) {
      const [head = "", ...rows] = lines;
      add("pack-table-head", `${head}]}`, tableHeadFaults);
      for (const row of rows.slice(0, -1)) add("pack-table-row", row.replace(/,$/, ""), rowFaults);
    }
  }
  return pieces;
};

/** What several members say together, the order of members, and what no pattern can tell: left to the verifiers. */
const BEYOND_SCHEMAS =
  /another order|must ascend|must be behind|address twice|coinChain must be there|trust has a checkpoint|trust has .* digest|a digest: the base58/;

let kept: readonly PackInMemory[];
beforeAll(async () => {
  kept = await Promise.all(KEPT.map(filesOfKept));
});

test("every manifest, table, line, committee and signature of released packs fits its schema", () => {
  const seen = new Set<SchemaName>();
  const [, , whole] = kept;
  if (whole === undefined) throw new Error("no packs are kept");
  for (const pack of [...kept, withActs(whole, KEYS.deployment)]) {
    for (const { schema, text, faults } of piecesOf(pack)) {
      seen.add(schema);
      expect([faults, misfits(schema, JSON.parse(text))], text.slice(0, 200)).toEqual([[], []]);
    }
  }
  expect(seen.size).toBeGreaterThanOrEqual(12);
});

test("a forger's changes to the form of a pack fit no schema, and what the client accepts does", async () => {
  let refused = 0;
  const wrong: string[] = [];
  const look = async (pack: PackInMemory, forgeries: readonly Forgery[]) => {
    const honest = signedAnew(pack, undefined, KEYS.deployment);
    const known = new Set(piecesOf(honest).map(({ text }) => text));
    for (const { name, forge } of forgeries) {
      for (const { schema, text, faults } of piecesOf(await forge(honest, KEYS.deployment))) {
        if (known.has(text)) continue;
        const fits = misfits(schema, JSON.parse(text)).length === 0;
        if (!fits && faults.length > 0) refused += 1;
        const isLeft = faults.every((fault) => BEYOND_SCHEMAS.test(fault));
        if (fits ? !isLeft : faults.length === 0) wrong.push(`${name}: ${schema}: ${faults[0]}`);
      }
    }
  };
  const [proven, , whole] = kept;
  if (proven === undefined || whole === undefined) throw new Error("no packs are kept");
  await look(proven, [...FORGERIES, ...FORGED_FILES]);
  await look(whole, [...FORGERIES, ...FORGED_FILES, ...FORGERIES_OF_WHOLE]);
  await look(withActs(whole, KEYS.deployment), FORGED_ACTS);
  expect(wrong).toEqual([]);
  expect(refused).toBeGreaterThan(80);
});

const vectorsIn = async (file: string) =>
  z
    .looseObject({
      vectors: z.record(
        z.string(),
        z.array(
          z.looseObject({
            name: z.string(),
            input: z.record(z.string(), z.json()),
            expect: z.looseObject({ error: z.string().optional() }),
          }),
        ),
      ),
    })
    .parse(JSON.parse(await readFile(join(FOLDER, "vectors", file), "utf8"))).vectors;

test("a statement fits the schema of its version exactly where the client accepts its form", async () => {
  const { statement = [] } = await vectorsIn("statement.json");
  let refused = 0;
  for (const {
    name,
    input,
    expect: { error = "" },
  } of statement) {
    const isMisshapen = / must be |is missing|unknown member/.test(error);
    const { version } = z.looseObject({ version: z.int() }).parse(input.statement);
    const found = misfits(version === 2 ? "statement-v2" : "statement-v1", input.statement);
    expect([name, found.length > 0]).toEqual([name, isMisshapen]);
    refused += isMisshapen ? 1 : 0;
  }
  expect(refused).toBeGreaterThan(10);
});

test("signed entries and heads fit their schemas, and unknown forms do not", async () => {
  const { sequence = [], keys = [], head = [] } = await vectorsIn("sequence.json");
  let refused = 0;
  for (const {
    name,
    input,
    expect: { error = "" },
  } of sequence) {
    const isMisshapen = / must be |is missing|unknown member/.test(error);
    const entries = z.array(z.json()).parse(input.entries);
    const found = entries.flatMap((entry) => misfits("sequence-entry", entry));
    expect([name, found.length > 0]).toEqual([name, isMisshapen]);
    refused += isMisshapen ? 1 : 0;
  }
  expect(refused).toBeGreaterThan(3);
  const ofKeys = keys.flatMap(({ input }) => z.array(z.json()).parse(input.entries));
  expect(ofKeys.flatMap((entry) => misfits("sequence-entry", entry))).toEqual([]);
  for (const { name, input } of head) {
    const listed = {
      ...z.record(z.string(), z.json()).parse(input.head),
      signedAt: "2026-07-01T00:00:02.114Z",
    };
    const isMisshapen = name.includes("spelling");
    expect([name, misfits("log-head", listed).length > 0]).toEqual([name, isMisshapen]);
  }
});

test("the page of formats names every schema and every file of vectors", async () => {
  const page = await readFile(join(FOLDER, "formats.md"), "utf8");
  const vectors = await readdir(join(FOLDER, "vectors"));
  const named = [...Object.keys(SCHEMAS).map((name) => `(schemas/${name}.json)`), ...vectors];
  expect(named.filter((name) => !page.includes(name))).toEqual([]);
});
