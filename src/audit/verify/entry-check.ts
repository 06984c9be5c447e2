/**
 * Checks sequence entries about the log (heads, ends of coins, times and digests, input versions)
 * against it.
 */
import type { Sql } from "../../database/connect.ts";
import { blockHashesAt, storedBlockHashes } from "../../log/block-chain.ts";
import { coinEnds, type LogFault, NO_FACTS } from "../../log/chain.ts";
import { type InputStretch, inputEnd, inputStretches } from "../../log/input-chain.ts";
import { chainIdOf, entriesAfter, type SequenceEntry, textIn } from "../sequence/sequence.ts";
import type { Reading, Stretches } from "../sequence/stretches.ts";

/** An entry about the log, or one from an auditor's file. */
type LogEntry = Pick<SequenceEntry, "number" | "kind" | "body"> & {
  /** Place in the auditor's file. */
  readonly name?: string;
};

/** Kinds of entries that can be checked against the log. */
export const ABOUT_LOG: readonly string[] = ["head", "coin", "blocks", "inputs"];

/**
 * First fault of each entry that the log contradicts; skips other kinds. Does not check signatures,
 * the order of entries, or whether the chains match what they cover.
 */
export const entryFaults = async (
  sql: Sql,
  entries: readonly LogEntry[],
  signal: AbortSignal,
): Promise<readonly LogFault[]> => {
  const faults: LogFault[] = [];
  const ofLog = await chainIdOf(sql);
  const about: LogEntry[] = [];
  for (const entry of entries) {
    if (!ABOUT_LOG.includes(entry.kind)) continue;
    const chainId = textIn(entry.body, "chainId");
    if (chainId === "" || chainId === ofLog) about.push(entry);
    else faults.push(faultOf(entry, 0n, `is of chain ${chainId}, but the log of ${ofLog}`));
  }
  const stretches = await inputStretches(sql);
  for (const entry of about) {
    const fault = await FAULT_OF[entry.kind]?.(sql, entry, stretches);
    if (fault) faults.push(fault);
  }
  return [...faults, ...(await blocksFaults(sql, about, signal))];
};

const faultOf = (
  { number, kind, name = `entry ${number} of the sequence (${kind})` }: LogEntry,
  checkpoint: bigint,
  what: string,
): LogFault => ({ checkpoint, what: `${name} ${what}` });

const numberIn = ({ body }: LogEntry, name: string): bigint => {
  const text = textIn(body, name);
  return /^\d{1,18}$/.test(text) ? BigInt(text) : -1n;
};

const hashIn = ({ body }: LogEntry): string => textIn(body, "hash");

const hexOf = (hash: Uint8Array): string => Buffer.from(hash).toString("hex");

const headFault = async (sql: Sql, entry: LogEntry): Promise<LogFault | null> => {
  const checkpoint = numberIn(entry, "checkpoint");
  const [row] = await sql<{ hash: Buffer }[]>`
    select hash from log_chain where checkpoint = ${checkpoint}`;
  if (row?.hash.toString("hex") === hashIn(entry)) return null;
  const what = `has another hash than log_chain${row ? "" : ", which has none"}`;
  return faultOf(entry, checkpoint, what);
};

const coinFault = async (sql: Sql, entry: LogEntry): Promise<LogFault | null> => {
  const checkpoint = numberIn(entry, "checkpoint");
  const coinType = textIn(entry.body, "coinType");
  const end = (await coinEnds(sql, [coinType], checkpoint)).get(coinType) ?? NO_FACTS;
  if (hexOf(end.hash) === hashIn(entry) && `${end.facts}` === entry.body.facts) return null;
  const what = `has another end of the facts of ${coinType} than log_coin_chain`;
  return faultOf(entry, checkpoint, what);
};

const inputsFault = async (
  sql: Sql,
  entry: LogEntry,
  stretches: readonly InputStretch[],
): Promise<LogFault | null> => {
  const [from, through] = [numberIn(entry, "from"), numberIn(entry, "through")];
  const isKnown = stretches.some((stretch) => stretch.from === from && through < stretch.to);
  const end = isKnown ? await inputEnd(sql, { from, to: through + 1n }) : undefined;
  const hash = end?.checkpoint === through ? hexOf(end.hash) : "";
  if (hash === hashIn(entry)) return null;
  const what = `has another hash of the inputs of checkpoints ${from} to ${through} than log_input_chain`;
  return faultOf(entry, through, what);
};

/** Fault of one entry, by its kind; `blocks` are checked together. */
const FAULT_OF: Readonly<
  Record<
    string,
    (sql: Sql, entry: LogEntry, stretches: readonly InputStretch[]) => Promise<LogFault | null>
  >
> = { head: headFault, coin: coinFault, inputs: inputsFault };

const blocksFaults = async (
  sql: Sql,
  entries: readonly LogEntry[],
  signal: AbortSignal,
): Promise<readonly LogFault[]> => {
  const faults: LogFault[] = [];
  const blocks = entries.filter(({ kind }) => kind === "blocks");
  const stretches = Map.groupBy(blocks, (entry) => numberIn(entry, "from"));
  for (const [from, of] of stretches) {
    const through = of.map((entry) => numberIn(entry, "through"));
    const stored = await storedBlockHashes(sql, from, through);
    const others = through.filter((last) => !stored.has(last));
    const made = others.length === 0 ? stored : await blockHashesAt(sql, from, others, signal);
    for (const entry of of) {
      const last = numberIn(entry, "through");
      if ((stored.get(last) ?? made.get(last)) === hashIn(entry)) continue;
      const what = `does not fit times and digests of checkpoints ${from} to ${last} in log_blocks`;
      faults.push(faultOf(entry, last, what));
    }
  }
  return faults;
};

const ENTRIES_PER_PAGE = 1_000;

/** Checks sequence entries after a number against the log. */
export async function* checkEntries(on: Reading, since: bigint, signal: AbortSignal): Stretches {
  for (let after = since; ; ) {
    const entries = await entriesAfter(on, after, ENTRIES_PER_PAGE);
    yield await entryFaults(on.sql, entries, signal);
    const last = entries.at(-1);
    if (last === undefined || entries.length < ENTRIES_PER_PAGE) break;
    after = BigInt(last.number);
  }
}
