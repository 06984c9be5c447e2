/** Lines of a pack's files: RFC 8785 JSON, numbers as texts; the writer's and the verifier's are the same. */
import { Buffer } from "node:buffer";
import { canonicalJson, type JsonValue } from "../../../client/canonical-json.ts";
import { linesOf, type PackFiles } from "../../../client/pack-files.ts";
import type { StandingLine } from "../../../client/pack-forms.ts";
import { LONGEST_LINE } from "../../../client/pack-lines.ts";
import { nameAndCoin } from "../../ledger/reading/facts.ts";
import type { ObjectFact } from "../../log/fact.ts";
import { membershipKey } from "../../pipelines/holder-lifecycle.ts";
import type { BalanceChange } from "../../projections/balance-changes.ts";
import type { HolderEventRow } from "../../projections/holder-events.ts";
import type { MembershipRange } from "../../projections/memberships.ts";
import { type RoleEventRow, type RoleRange, roleKey } from "../../projections/roles.ts";
import { FILES, packError } from "./form.ts";

/** The values of these names. */
const line = (row: Readonly<Record<string, unknown>>, names: readonly string[]): string =>
  canonicalJson(Object.fromEntries(names.map((name) => [name, asJson(row[name])])));

const asJson = (value: unknown): JsonValue => {
  if (typeof value === "bigint" || typeof value === "number") return value.toString();
  return typeof value === "string" || typeof value === "boolean" ? value : null;
};

const EVENT = ["position", "txDigest", "timestampMs"] as const;

/** A movement; `part` is of the balance. */
export type Movement = Omit<BalanceChange, "checkpoint">;

export const movementLine = (movement: Movement): string =>
  line(movement, [...EVENT, "owner", "part", "cause", "change", "balanceAfter"]);

export const holderEventLine = (event: Omit<HolderEventRow, "coinType">): string =>
  line(event, [...EVENT, "eventType", "holderId", "address", "groupId", "isFrozen"]);

export const roleEventLine = (event: Omit<RoleEventRow, "coinType">): string =>
  line(event, [...EVENT, "owner", "role", "granted", "signer"]);

/** What the first register is made of: objects, what wallets are, and who holds which role. */
export type Standing =
  | { readonly kind: "object"; readonly fact: ObjectFact }
  | { readonly kind: "membership"; readonly range: MembershipRange }
  | { readonly kind: "role"; readonly range: RoleRange };

/** The checkpoint that something stands since. */
export const sinceOf = (standing: Standing): bigint =>
  standing.kind === "object" ? standing.fact.checkpoint : standing.range.checkpoint;

/** What can stand once only. */
export const keyOf = (standing: Standing): string => {
  if (standing.kind === "object") return `object ${standing.fact.objectId}`;
  if (standing.kind === "role") return `role ${roleKey(standing.range)}`;
  return `membership ${membershipKey(standing.range)}`;
};

export const standingLine = (standing: Standing): string => {
  switch (standing.kind) {
    case "object": {
      const { fact } = standing;
      const contents = Buffer.from(fact.contents).toString("base64");
      return line({ ...fact, contents }, [
        ...["kind", "objectId", "version", "type", "name", "checkpoint", "transaction", "index"],
        ...["txDigest", "sender", "timestampMs", "contents"],
      ]);
    }
    case "membership":
      return line({ kind: "membership", ...standing.range }, [
        ...["kind", "address", "aspect", "value", "checkpoint"],
      ]);
    case "role":
      return line({ kind: "role", ...standing.range }, ["kind", "owner", "role", "checkpoint"]);
  }
};

/**
 * @param until of a range that stands
 * @throws AuditPackError (stop) for an object of another coin
 */
export const standingIn = (json: StandingLine, coinType: string, until: bigint): Standing => {
  const checkpoint = BigInt(json.checkpoint);
  switch (json.kind) {
    case "object": {
      const { name, coinType: of } = nameAndCoin(json.type);
      if (name !== json.name || of !== coinType) {
        throw packError(FILES.firstState, `object ${json.objectId} is none of ${coinType}`);
      }
      const fact: ObjectFact = {
        ...json,
        checkpoint,
        coinType,
        version: BigInt(json.version),
        transaction: Number(json.transaction),
        index: Number(json.index),
        timestampMs: BigInt(json.timestampMs),
        contents: Buffer.from(json.contents, "base64"),
      };
      return { kind: "object", fact };
    }
    case "membership": {
      const range = { ...json, coinType, checkpoint, until, value: BigInt(json.value) };
      return { kind: "membership", range };
    }
    case "role":
      return { kind: "role", range: { ...json, coinType, checkpoint, until } };
  }
};

/** The lines of a file of a pack, held against those that were made again. */
export class PackLines implements AsyncDisposable {
  readonly #file: string;
  readonly #lines: AsyncGenerator<string, void>;
  #count = 0;

  /** @param most characters of a line */
  constructor(pack: PackFiles, file: string, most = LONGEST_LINE) {
    this.#file = file;
    this.#lines = linesOf(pack, file, most);
  }

  /** How many were read. */
  get count(): number {
    return this.#count;
  }

  async #next(): Promise<string | undefined> {
    const next = await this.#lines.next();
    if (next.done) return undefined;
    this.#count += 1;
    return next.value;
  }

  /** @throws AuditPackError (stop) when the next one is another */
  async expect(text: string): Promise<void> {
    const found = await this.#next();
    if (found === text) return;
    const at = `line ${found === undefined ? this.#count + 1 : this.#count}`;
    throw packError(
      this.#file,
      `${at} is ${found?.slice(0, 150) ?? "missing"}, but the checkpoints give ${text.slice(0, 150)}`,
    );
  }

  /** @throws AuditPackError (stop) when there are more */
  async end(): Promise<void> {
    const found = await this.#next();
    if (found === undefined) return;
    throw packError(
      this.#file,
      `line ${this.#count} is ${found.slice(0, 150)}, which no checkpoint of the pack gives`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lines.return();
  }
}
