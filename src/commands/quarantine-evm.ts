/** EVM tokens of `holderbook quarantine`: the process that makes their records applies the held facts. */
import { acting } from "../audit/sequence/acts.ts";
import type { Address } from "../evm/contract/fact.ts";
import { loggedTokens } from "../evm/log/progress.ts";
import { chainMark, countFacts } from "../evm/log/reads.ts";
import {
  noteResolution,
  noteRetry,
  type Quarantine,
  readQuarantines,
} from "../projections/quarantines.ts";
import { type Hold, heldIn, heldName, holdsOf, retryHolds } from "../transfers/holds.ts";
import { pause } from "../waiting/backoff.ts";
import type { OpenDatabase } from "./open-database.ts";
import { printLines } from "./output.ts";
import { UsageError } from "./usage.ts";

/** `43113:0x…`. */
export type EvmName = `${number}:${Address}`;

export const isEvmName = (text: string): text is EvmName =>
  /^[1-9]\d{0,15}:0x[0-9a-f]{40}$/.test(text);

/** Tokens with their names, and the number of held facts while they are held. */
export const namedEvm = async (
  { read }: OpenDatabase,
  listed: readonly Quarantine[],
): Promise<readonly (Quarantine & { readonly waiting: string | null })[]> => {
  const [tokens, holds] = await Promise.all([loggedTokens(read.db), holdsOf(read.db)]);
  return Promise.all(
    listed.map(async (one) => {
      const is = ({ chainId, token }: Pick<Hold, "chainId" | "token">) =>
        heldName(chainId, token) === one.coinType;
      const { name, symbol } =
        tokens.find((token) => is({ ...token, token: token.address })) ?? one;
      const hold = holds.find((held) => is(held) && heldIn(held.project) === one.pipeline);
      const waiting =
        hold === undefined || one.released !== null
          ? null
          : `${await countFacts(read.db, hold.chainId, hold.token, hold.nextBlock)}`;
      return { ...one, name, symbol, waiting };
    }),
  );
};

const holdsNamed = async ({ write }: OpenDatabase, name: EvmName): Promise<readonly Hold[]> =>
  (await holdsOf(write.db)).filter(({ chainId, token }) => heldName(chainId, token) === name);

/** @throws UsageError when the token is not held */
const heldNow = async (opened: OpenDatabase, name: EvmName): Promise<readonly Hold[]> => {
  const holds = await holdsNamed(opened, name);
  if (holds.length > 0) return holds;
  throw new UsageError(`${name} is not in quarantine: see \`quarantine list\``);
};

/** Whether the token is released. */
export const retryEvm = async (opened: OpenDatabase, name: EvmName): Promise<boolean> => {
  for (const hold of await heldNow(opened, name)) {
    await acting(opened.write, async (tx) => {
      await noteRetry(tx.sql, heldIn(hold.project), name, { from: hold.block });
      await retryHolds(tx, hold, hold.token);
      const details = { pipeline: heldIn(hold.project) };
      return [undefined, { command: "quarantine retry", details, on: { coinType: name } }];
    });
  }
  return outcome(opened, name);
};

/**
 * Leaves out the log that holds the token in each project, for ever; whether it is released then.
 * @throws UsageError when it is not held, or the log's block not final
 */
export const resolveEvm = async (
  opened: OpenDatabase,
  name: EvmName,
  why: { readonly by: string; readonly because: string },
): Promise<boolean> => {
  const holds = await heldNow(opened, name);
  for (const { chainId, block } of holds) {
    const mark = await chainMark(opened.write.db, chainId);
    if (mark !== null && block <= mark.finalBlock) continue;
    throw new UsageError(
      `block ${block} is not final yet, and a reorganisation may still withdraw its log: wait until it is`,
    );
  }
  const listed = await readQuarantines(opened.write.db, { coinType: name });
  for (const hold of holds) {
    const pipeline = heldIn(hold.project);
    const fact = listed.find((one) => one.pipeline === pipeline)?.fact;
    if (!fact || fact.checkpoint !== hold.block || fact.index !== hold.logIndex) {
      throw new UsageError(`${pipeline}: another log holds ${name} now: see \`quarantine show\``);
    }
    await acting(opened.write, async (tx) => {
      // Locks the hold's row, which a release may have changed since.
      await retryHolds(tx, hold, hold.token);
      const now = (await holdsOf(tx, hold)).find(({ token }) => token === hold.token);
      if (now?.txHash !== hold.txHash || now.logIndex !== hold.logIndex) {
        throw new UsageError(`${pipeline}: another log holds ${name} now, or none does`);
      }
      await noteResolution(tx.sql, pipeline, name, fact, why);
      const { transaction, kind, index, type, txDigest: digest } = fact;
      const place = {
        checkpoint: `${hold.block}`,
        transaction: `${transaction}`,
        index: `${index}`,
      };
      const details = { pipeline, ...place, kind, type, digest, ...why };
      return [undefined, { command: "quarantine resolve", details, on: { coinType: name } }];
    });
    printLines([`${pipeline}: left out for ever: log ${hold.logIndex} of block ${hold.block}`]);
  }
  return outcome(opened, name);
};

/** A running process looks every second; a release of many facts takes longer. */
const LOOKS = 120;
const LOOK_MS = 250;

const outcome = async (opened: OpenDatabase, name: EvmName): Promise<boolean> => {
  const asked = await holdsNamed(opened, name);
  let held = asked;
  for (let look = 0; look < LOOKS && held.some(({ retrying }) => retrying); look += 1) {
    await pause(LOOK_MS, opened.signal);
    opened.signal.throwIfAborted();
    held = await holdsNamed(opened, name);
  }
  printLines(
    asked.map(({ project }) => {
      const hold = held.find((one) => one.project === project);
      return `${heldIn(project)}: ${hold === undefined ? "released" : whyHeld(hold)}`;
    }),
  );
  return held.length === 0;
};

const whyHeld = ({ retrying, nextBlock, block, reason }: Hold): string =>
  retrying
    ? `applied up to block ${nextBlock - 1n}; the running \`start\` or \`index\` goes on with it, or the next one`
    : `still held from block ${block} on: ${reason}`;
