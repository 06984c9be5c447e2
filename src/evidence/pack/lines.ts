/** Lines of a pack's files, for writer and verifier: RFC 8785 JSON, numbers as texts. */
import { Buffer } from "node:buffer";
import { canonicalJson, type JsonValue } from "../../../client/canonical-json.ts";
import { linesOf, type PackFiles } from "../../../client/pack-files.ts";
import type { StateLine } from "../../../client/pack-forms.ts";
import { LONGEST_LINE } from "../../../client/pack-lines.ts";
import { nameAndCoin } from "../../ledger/reading/facts.ts";
import type { ObjectFact } from "../../log/fact.ts";
import { membershipKey } from "../../pipelines/holder-lifecycle.ts";
import type { BalanceChange } from "../../projections/balance-changes.ts";
import type { HolderEventRow } from "../../projections/holder-events.ts";
import type { MembershipRange } from "../../projections/memberships.ts";
import { type RoleEventRow, type RoleRange, roleKey } from "../../projections/roles.ts";
import { FILES, packError } from "./form.ts";

const line = (row: Readonly<Record<string, unknown>>, names: readonly string[]): string =>
  canonicalJson(Object.fromEntries(names.map((name) => [name, asJson(row[name])])));

const asJson = (value: unknown): JsonValue => {
  if (typeof value === "bigint" || typeof value === "number") return value.toString();
  return typeof value === "string" || typeof value === "boolean" ? value : null;
};

const EVENT = ["position", "txDigest", "timestampMs"] as const;

export type Movement = Omit<BalanceChange, "checkpoint">;

export const movementLine = (movement: Movement): string =>
  line(movement, [...EVENT, "owner", "part", "cause", "change", "balanceAfter"]);

export const holderEventLine = (event: Omit<HolderEventRow, "coinType">): string =>
  line(event, [...EVENT, "eventType", "holderId", "address", "groupId", "isFrozen"]);

export const roleEventLine = (event: Omit<RoleEventRow, "coinType">): string =>
  line(event, [...EVENT, "owner", "role", "granted", "signer"]);

/** An item of the opening state: an object, a wallet's membership, or a role. */
export type StateItem =
  | { readonly kind: "object"; readonly fact: ObjectFact }
  | { readonly kind: "membership"; readonly range: MembershipRange }
  | { readonly kind: "role"; readonly range: RoleRange };

export const sinceOf = (item: StateItem): bigint =>
  item.kind === "object" ? item.fact.checkpoint : item.range.checkpoint;

export const keyOf = (item: StateItem): string => {
  if (item.kind === "object") return `object ${item.fact.objectId}`;
  if (item.kind === "role") return `role ${roleKey(item.range)}`;
  return `membership ${membershipKey(item.range)}`;
};

export const stateLine = (item: StateItem): string => {
  switch (item.kind) {
    case "object": {
      const { fact } = item;
      const contents = Buffer.from(fact.contents).toString("base64");
      return line({ ...fact, contents }, [
        ...["kind", "objectId", "version", "type", "name", "checkpoint", "transaction", "index"],
        ...["txDigest", "sender", "timestampMs", "contents"],
      ]);
    }
    case "membership":
      return line({ kind: "membership", ...item.range }, [
        ...["kind", "address", "aspect", "value", "checkpoint"],
      ]);
    case "role":
      return line({ kind: "role", ...item.range }, ["kind", "owner", "role", "checkpoint"]);
  }
};

/** @param until end of an open range @throws AuditPackError (stop) for an object of another coin */
export const itemIn = (json: StateLine, coinType: string, until: bigint): StateItem => {
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

/** Compares the lines of a pack's file with recomputed ones. */
export class PackLines implements AsyncDisposable {
  readonly #file: string;
  readonly #lines: AsyncGenerator<string, void>;
  #count = 0;

  /** @param most characters of a line */
  constructor(pack: PackFiles, file: string, most = LONGEST_LINE) {
    this.#file = file;
    this.#lines = linesOf(pack, file, most);
  }

  get count(): number {
    return this.#count;
  }

  async #next(): Promise<string | undefined> {
    const next = await this.#lines.next();
    if (next.done) return undefined;
    this.#count += 1;
    return next.value;
  }

  /** @throws AuditPackError (stop) if the next line differs */
  async expect(text: string): Promise<void> {
    const found = await this.#next();
    if (found === text) return;
    const at = `line ${found === undefined ? this.#count + 1 : this.#count}`;
    throw packError(
      this.#file,
      `${at} is ${found?.slice(0, 150) ?? "missing"}, but the checkpoints give ${text.slice(0, 150)}`,
    );
  }

  /** @throws AuditPackError (stop) if there are more lines */
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
