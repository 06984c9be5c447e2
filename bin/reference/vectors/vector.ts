/** The form of test vector files, and their signing keys. */
import { createPublicKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { canonicalJson, type JsonValue } from "../../../client/canonical-json.ts";
import { publicTextOf, secretKeyOf, signBytes } from "../../../client/ed25519.ts";
import { keyIdOf } from "../../../src/audit/sequence/deployment-key.ts";

export type Input = { readonly [name: string]: JsonValue };

/** `error` is this project's wording; other verifiers need not match it. */
export type Expected =
  | { readonly ok: true; readonly [name: string]: JsonValue }
  | { readonly ok: false; readonly error: string; readonly [name: string]: JsonValue };

type Vector = {
  readonly name: string;
  readonly input: Input;
  readonly expect: Expected;
};

export type Judge = (input: Input) => Expected | Promise<Expected>;

type Failure = abstract new (...args: never[]) => Error;

/** Verdict of a check that throws one of these errors where something does not hold. */
export const verdictOf = async (
  failures: readonly Failure[],
  check: () => object | Promise<object>,
): Promise<Expected> => {
  try {
    return { ok: true, ...(await check()) };
  } catch (error) {
    if (!(error instanceof Error) || !failures.some((failure) => error instanceof failure)) {
      throw error;
    }
    return { ok: false, error: error.message };
  }
};

/** Verdict of a comparison; `error` says what is right. */
export const verdictIf = (holds: boolean, error: string): Expected =>
  holds ? { ok: true } : { ok: false, error };

/** `fails`: the expected error; null if valid. */
export type Case = readonly [name: string, input: object, fails: string | null];

/** Vectors with the code's verdict. @throws Error if it is not the intended one */
export const judged = async (judge: Judge, cases: readonly Case[]): Promise<readonly Vector[]> => {
  const vectors: Vector[] = [];
  for (const [name, given, fails] of cases) {
    const input: Input = JSON.parse(JSON.stringify(given));
    const expect = await judge(input);
    const isIntended = expect.ok ? fails === null : fails !== null && expect.error.includes(fails);
    if (!isIntended) {
      const verdict = expect.ok ? "it holds" : expect.error;
      throw new Error(`the vector "${name}" should say ${fails ?? "that it holds"}: ${verdict}`);
    }
    vectors.push({ name, input, expect });
  }
  return vectors;
};

/** The files of a pack that is a zip in the project. */
export const packFiles = async (path: string): Promise<Map<string, Uint8Array<ArrayBuffer>>> => {
  const zip = await readFile(join(import.meta.dirname, "..", "..", "..", path));
  return new Map(
    Object.entries(unzipSync(zip)).map(([file, bytes]) => [file, Uint8Array.from(bytes)]),
  );
};

/** The secret is published, so the key proves nothing elsewhere. */
const testKey = (name: string, byte: number) => {
  const seed = Buffer.alloc(32, byte);
  const secret = secretKeyOf(seed.toString("base64"));
  const publicKey = publicTextOf(createPublicKey(secret));
  return {
    name,
    seed: seed.toString("hex"),
    secretKey: seed.toString("base64"),
    publicKey,
    keyId: keyIdOf(publicKey),
    /** Base64 of Ed25519 over the RFC 8785 JSON. */
    sign: (signed: JsonValue) => signBytes(Buffer.from(canonicalJson(signed)), secret),
  };
};

export type TestKey = ReturnType<typeof testKey>;

export const KEYS = {
  deployment: testKey("deployment", 1),
  next: testKey("next", 2),
  stranger: testKey("stranger", 3),
} as const;

/** A file's text. @param vectors by their check */
export const vectorFile = (
  about: string,
  vectors: Readonly<Record<string, readonly Vector[]>>,
): string => {
  const keys = Object.values(KEYS).map(({ name, seed, publicKey, keyId }) => ({
    name,
    seed,
    publicKey,
    keyId,
  }));
  const note = "TEST KEYS: their seeds are public. What they sign proves nothing.";
  return `${JSON.stringify({ about, note, keys, vectors }, null, 1)}\n`;
};
