import type { ActLine } from "./pack-acts.mjs";
import type { PackFiles } from "./pack-files.mjs";

type Texts<Names extends string> = { readonly [Name in Names]: string };

/** A line of `first/state.ndjson`; numbers are decimal texts. */
export type StandingLine =
  | ({ readonly kind: "object" } & Texts<
      | "objectId"
      | "version"
      | "type"
      | "name"
      | "checkpoint"
      | "transaction"
      | "index"
      | "txDigest"
      | "sender"
      | "timestampMs"
      | "contents"
    >)
  | ({
      readonly kind: "membership";
      readonly aspect: "holder" | "group" | "freeze";
    } & Texts<"address" | "value" | "checkpoint">)
  | ({ readonly kind: "role" } & Texts<"owner" | "role" | "checkpoint">);

/** The lines of a file, each of the form that the file has, in its only form. @throws AuditPackError */
export declare const jsonLines: <Path extends "first/state.ndjson" | "acts.ndjson">(
  pack: PackFiles,
  path: Path,
  signal?: AbortSignal,
) => AsyncGenerator<Path extends "acts.ndjson" ? ActLine : StandingLine, void>;

/** Characters of the longest line of a file of lines. */
export declare const LONGEST_LINE: number;
