/** Lines of a pack's files: RFC 8785 JSON, numbers as texts; the writer's and the verifier's are the same. */
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import { canonicalJson, type JsonValue } from "../../client/canonical-json.mjs";
import type { ObjectFact } from "../log/fact.ts";
import type { BalanceChange } from "../projections/balance-changes.ts";
import type { HolderEventRow } from "../projections/holder-events.ts";
import type { MembershipRange } from "../projections/memberships.ts";
import type { RoleEventRow, RoleRange } from "../projections/roles.ts";
import { AuditPackError } from "./pack-form.ts";

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

const whole = z
  .string()
  .regex(/^(0|[1-9]\d{0,19})$/)
  .transform(BigInt);

const standing = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("object"),
    objectId: z.string(),
    version: whole,
    type: z.string(),
    name: z.string(),
    checkpoint: whole,
    transaction: whole.transform(Number),
    index: whole.transform(Number),
    txDigest: z.string(),
    sender: z.string(),
    timestampMs: whole,
    contents: z.base64().transform((text) => Buffer.from(text, "base64")),
  }),
  z.strictObject({
    kind: z.literal("membership"),
    address: z.string(),
    aspect: z.enum(["holder", "group", "freeze"]),
    value: whole,
    checkpoint: whole,
  }),
  z.strictObject({
    kind: z.literal("role"),
    owner: z.string(),
    role: z.string(),
    checkpoint: whole,
  }),
]);

/** @param until of a range that stands @throws AuditPackError (stop) */
export const readStanding = (
  file: string,
  text: string,
  coinType: string,
  until: bigint,
): Standing => {
  const { data } = standing.safeParse(parsed(text));
  if (data === undefined)
    throw new AuditPackError(file, `a line of no known form: ${text.slice(0, 200)}`);
  switch (data.kind) {
    case "object":
      return { kind: "object", fact: { ...data, kind: "object", coinType } };
    case "membership":
      return { kind: "membership", range: { ...data, coinType, until } };
    case "role":
      return { kind: "role", range: { ...data, coinType, until } };
  }
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The lines of a file of a pack, one after the other. */
export class PackLines implements AsyncDisposable {
  readonly #file: string;
  readonly #stream: ReturnType<typeof createReadStream>;
  readonly #lines: AsyncIterator<string>;
  #count = 0;

  constructor(folder: string, file: string) {
    this.#file = file;
    this.#stream = createReadStream(join(folder, file), "utf8");
    this.#lines = createInterface({ input: this.#stream, crlfDelay: Infinity })[
      Symbol.asyncIterator
    ]();
  }

  /** How many were read. */
  get count(): number {
    return this.#count;
  }

  /** The next one; undefined behind the last. */
  async next(): Promise<string | undefined> {
    const { done, value } = await this.#lines.next();
    if (done) return undefined;
    this.#count += 1;
    return value;
  }

  /** @throws AuditPackError (stop) when the next one is another */
  async expect(text: string): Promise<void> {
    const found = await this.next();
    if (found === text) return;
    const at = `line ${found === undefined ? this.#count + 1 : this.#count}`;
    throw new AuditPackError(
      this.#file,
      `${at} is ${found ?? "missing"}, but the checkpoints give ${text}`,
    );
  }

  /** @throws AuditPackError (stop) when there are more */
  async end(): Promise<void> {
    const found = await this.next();
    if (found === undefined) return;
    throw new AuditPackError(
      this.#file,
      `line ${this.#count} is ${found}, which no checkpoint of the pack gives`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stream.destroy();
  }
}
