/** `docs/reference/schemas/`: a JSON Schema per form. */
import { z } from "zod";
import * as packs from "./packs.ts";
import * as signed from "./signed.ts";

export const SCHEMAS = {
  "statement-v1": [signed.statement1, "A statement of version 1"],
  "statement-v2": [signed.statement2, "A statement of version 2"],
  root: [signed.root, "A root in the list of `GET /roots`, of either version"],
  "log-head": [signed.head, "A head in the list of `GET /log-heads`"],
  "sequence-entry": [
    signed.sequenceEntry,
    "An entry of the signed sequence, as a deployment makes it",
  ],
  "pack-manifest-v1": [packs.manifest1, "`manifest.json` of a pack of version 1"],
  "pack-manifest-v2": [packs.manifest2, "`manifest.json` of a pack of version 2"],
  "pack-manifest-v3": [packs.manifest3, "`manifest.json` of a pack of version 3"],
  "pack-manifest-v4": [packs.manifest4, "`manifest.json` of a pack of version 4"],
  "pack-signature": [packs.signatureFile, "`manifest.sig.json`"],
  "pack-committee": [packs.committee, "`committee.json` of a pack"],
  "pack-table-head": [packs.tableHead, "The first line of `cap-table.json`, with `]}` appended"],
  "pack-table-row": [
    packs.tableRow,
    "A further line of `cap-table.json`, without the comma at its end",
  ],
  "pack-state": [packs.state, "A line of `first/state.ndjson`"],
  "pack-movement": [packs.movement, "A line of `movements.ndjson`"],
  "pack-holder-event": [packs.holderEvent, "A line of `holder-events.ndjson`"],
  "pack-role-event": [packs.roleEvent, "A line of `role-events.ndjson`"],
  "pack-act": [packs.act, "A line of `acts.ndjson`"],
  completeness: [
    signed.completeness,
    "A certificate of completeness; `certificate.json` of a pack",
  ],
} as const satisfies Readonly<Record<string, readonly [z.ZodType, string]>>;

export const schemaPath = (name: string): string => `docs/reference/schemas/${name}.json`;

export const schemaFiles = (): readonly (readonly [string, string])[] =>
  Object.entries(SCHEMAS).map(([name, [schema, title]]) => {
    // Most validators ignore formats; the pattern beside it decides.
    const made = z.toJSONSchema(schema, {
      reused: "ref",
      override: ({ jsonSchema }) => {
        delete jsonSchema.format;
      },
    });
    return [schemaPath(name), `${JSON.stringify({ title, ...made }, null, 1)}\n`];
  });
