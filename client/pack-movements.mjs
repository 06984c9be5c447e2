/** What an audit pack says happened: the form of every line, and whether the movements lead from one register to the other. */

import { PackActs } from "./pack-acts.mjs";
import { fail, stopAt } from "./pack-error.mjs";
import { isCanonical, linesOf, parsed } from "./pack-files.mjs";
import {
  ACTS,
  HOLDER_EVENTS,
  lineFaults,
  lineFiles,
  MOVEMENTS,
  STATE,
  TABLES,
} from "./pack-forms.mjs";
import { PackWallets } from "./pack-wallets.mjs";

/** An object of the largest size in base64, and what is around it. */
export const LONGEST_LINE = 2 ** 19;

/** A position is its checkpoint, then the transaction and event in so many digits. */
const POSITIONS = 1_000_000_000n;

/** Lines of a file as their JSON, each in its only form. */
export async function* jsonLines(pack, path, signal) {
  let at = 0;
  for await (const line of linesOf(pack, path, LONGEST_LINE)) {
    signal?.throwIfAborted();
    at += 1;
    const place = `line ${at} `;
    const json = parsed(path, line, place);
    const [fault] = lineFaults(path, json);
    if (fault !== undefined) fail(path, `${place}is of no known form: ${fault}`);
    if (!isCanonical(json, line)) fail(path, `${place}is not in RFC 8785 form`);
    yield json;
  }
}

/** Within the range, and not before the line above. */
const placed = (path, { position }, before, { first, last }, at) => {
  const checkpoint = BigInt(position) / POSITIONS;
  if (checkpoint <= BigInt(first.checkpoint) || checkpoint > BigInt(last.checkpoint)) {
    fail(path, `line ${at} is of checkpoint ${checkpoint}, which is not between the registers`);
  }
  if (BigInt(position) < before) fail(path, `line ${at} stands out of its order`);
  return BigInt(position);
};

/**
 * Holds all files of lines against their form, and the registers against what they say of wallets.
 * @returns how many lines each has, and what the movements come to
 */
export const linesIn = async (pack, manifest, { first, last }, signal) => {
  const counts = {};
  const moved = new Map();
  const wallets = new PackWallets();
  for (const path of lineFiles(manifest)) {
    let [count, position] = [0, 0n];
    const acts = new PackActs(manifest);
    for await (const json of jsonLines(pack, path, signal)) {
      count += 1;
      if (path === ACTS) acts.next(json, count);
      else if (json.kind === undefined) position = placed(path, json, position, manifest, count);
      if (path === MOVEMENTS) move(moved, json, count);
      if (path === HOLDER_EVENTS) wallets.happened(json);
      if (json.kind === "membership") wallets.stands(json);
    }
    counts[path] = count;
    if (path === STATE) wallets.check(TABLES.first, first);
    if (path === HOLDER_EVENTS) wallets.check(TABLES.last, last);
  }
  return { counts, moved };
};

/** By wallet and part: what it held before its first movement, and after its last. */
const move = (moved, { owner, part, change, balanceAfter }, at) => {
  const key = `${owner} ${part}`;
  const after = BigInt(balanceAfter);
  const before = after - BigInt(change);
  const known = moved.get(key);
  if (before < 0n) fail(MOVEMENTS, `line ${at} takes more than there was`);
  if (known !== undefined && known.last !== before) {
    fail(
      MOVEMENTS,
      `line ${at} follows a balance of ${before}; the line before it left ${known.last}`,
    );
  }
  moved.set(key, { first: known?.first ?? before, last: after });
};

/** Whether each wallet's movements lead from what it held to what it holds. */
export const checkMovements = (moved, first, last) => {
  const failures = [];
  const wallets = new Set([...first.keys(), ...last.keys()]);
  for (const key of moved.keys()) wallets.add(key.slice(0, key.indexOf(" ")));
  for (const wallet of wallets) {
    const [had, has] = [first, last].map((register) => register.get(wallet)?.balance ?? 0n);
    const parts = ["TOKENS", "GRANTS"].map((part) => moved.get(`${wallet} ${part}`));
    const sum = (of) => parts.reduce((total, part) => total + (part?.[of] ?? 0n), 0n);
    const change = sum("last") - sum("first");
    // A part without movements is only known as the remainder.
    const isWhole = parts.every((part) => part !== undefined);
    const fits = isWhole ? sum("first") === had : sum("first") <= had;
    if (had + change === has && fits) continue;
    const what = `${wallet} held ${had}, moved ${change}, and holds ${has}`;
    failures.push({
      file: MOVEMENTS,
      what: fits ? what : `${what}, but its movements begin with ${sum("first")}`,
    });
  }
  stopAt(failures);
};
