/** The form of entries of a deployment's signed sequence, whether they hold or not. */
import { canonicalJson } from "./canonical-json.mjs";
import { shown } from "./pack-error.mjs";
import { CHAIN_ID, isMoment, isType, KEY_ID } from "./pack-forms.mjs";
import { isBase64 } from "./sum-tree.mjs";

/** What entries of a sequence say does not hold. */
export class SequenceError extends Error {
  name = "SequenceError";
  remedy = "stop";
}

const KINDS = ["root", "head", "coin", "blocks", "inputs", "key", "correction", "act"];

const matches = (pattern) => (value) => typeof value === "string" && pattern.test(value);
const isNumber = matches(/^(0|[1-9]\d{0,38})$/);
const isHash = matches(/^[0-9a-f]{64}$/);
const isNullOr = (is) => (value) => value === null || is(value);
const isPlain = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

const ENTRY = {
  number: isNumber,
  previous: isHash,
  kind: (value) => KINDS.includes(value),
  body: isPlain,
  at: isMoment,
  keyId: matches(KEY_ID),
  signature: isBase64(64),
};

/** Members of bodies that have one form whatever the kind. */
const IN_BODIES = {
  act: isNumber,
  chainId: isNullOr(matches(CHAIN_ID)),
  coinType: isType,
  checkpoint: isNumber,
  checkpointTimestampMs: isNumber,
  decimals: isNullOr(isNumber),
  facts: isNumber,
  hash: isHash,
  keyId: matches(KEY_ID),
  lost: matches(KEY_ID),
  publicKey: isBase64(32),
  root: isHash,
  sha256: isHash,
  total: isNumber,
};

/** What each kind cannot do without. */
const NEEDED = {
  root: ["chainId", "coinType", "checkpoint", "root", "total"],
  head: ["chainId", "checkpoint", "hash"],
  coin: ["chainId", "coinType", "checkpoint", "facts", "hash"],
  key: ["keyId", "publicKey"],
  act: ["act", "sha256"],
};

/** A correction of the log has been written with other members beside `of`, of whatever form. */
const IN_REVOCATIONS = {
  keyId: matches(KEY_ID),
  from: isNumber,
  why: (value) => typeof value === "string",
};

export const failed = ({ number }, what) => {
  throw new SequenceError(`entry ${number} ${what}`);
};

/** Whether an entry revokes a former key, rather than correcting something else. */
export const isRevocation = ({ kind, body }) => kind === "correction" && body.of === "key";

export const linesOf = (text) =>
  text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line, at) => {
      try {
        return JSON.parse(line);
      } catch {
        throw new SequenceError(`line ${at + 1} is no JSON`);
      }
    });

export const checked = (entry, at) => {
  const fail = (what) => {
    throw new SequenceError(`entry at place ${at + 1}: ${what}`);
  };
  if (!isPlain(entry)) fail("it is no object");
  for (const name of Object.keys(entry)) {
    if (!Object.hasOwn(ENTRY, name)) fail(`${shown(name)} is no member of an entry`);
  }
  for (const [name, is] of Object.entries(ENTRY)) {
    if (!is(entry[name])) fail(`${name} is missing or not in its one form`);
  }
  for (const [name, value] of Object.entries(entry.body)) {
    const is = Object.hasOwn(IN_BODIES, name) ? IN_BODIES[name] : undefined;
    if (is !== undefined && !is(value)) fail(`${name} of the body is not in its one form`);
  }
  for (const name of NEEDED[entry.kind] ?? []) {
    if (!Object.hasOwn(entry.body, name)) fail(`the body has no ${name}`);
  }
  for (const [name, is] of isRevocation(entry) ? Object.entries(IN_REVOCATIONS) : []) {
    if (!is(entry.body[name])) fail(`${name} of the body is missing or not in its one form`);
  }
  try {
    canonicalJson(entry.body);
  } catch (error) {
    fail(shown(error.message));
  }
  return entry;
};
