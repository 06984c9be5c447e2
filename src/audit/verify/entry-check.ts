/**
 * Checks sequence entries about the log (heads, ends of coins, times and digests, input versions)
 * against it.
 */
import type { Sql } from "../../database/connect.ts";
import { blockHashesAt, storedBlockHashes } from "../../log/block-chain.ts";
import { coinEnds, type LogFault, NO_FACTS } from "../../log/chain.ts";
import { inputEnd, inputStretches } from "../../log/input-chain.ts";
import { type SequenceEntry, textIn } from "../sequence/sequence.ts";

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
  const [log] = await sql<{ chainId: string | null; next: bigint }[]>`
    select chain_id as "chainId", next_checkpoint as next from log_high_water`;
  const about: LogEntry[] = [];
  for (const entry of entries) {
    if (!ABOUT_LOG.includes(entry.kind)) continue;
    const chainId = textIn(entry.body, "chainId");
    if (chainId === "" || log?.chainId === chainId) about.push(entry);
    else faults.push(faultOf(entry, 0n, `is of chain ${chainId}, but the log of ${log?.chainId}`));
  }
  faults.push(...(await headFaults(sql, about)));
  faults.push(...(await coinFaults(sql, about)));
  faults.push(...(await blocksFaults(sql, about, signal)));
  faults.push(...(await inputsFaults(sql, about)));
  return faults;
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

const headFaults = async (sql: Sql, entries: readonly LogEntry[]): Promise<readonly LogFault[]> => {
  const faults: LogFault[] = [];
  for (const entry of entries) {
    if (entry.kind !== "head") continue;
    const checkpoint = numberIn(entry, "checkpoint");
    const [row] = await sql<{ hash: Buffer }[]>`
      select hash from log_chain where checkpoint = ${checkpoint}`;
    if (row?.hash.toString("hex") === textIn(entry.body, "hash")) continue;
    faults.push(
      faultOf(entry, checkpoint, `has another hash than log_chain${row ? "" : ", which has none"}`),
    );
  }
  return faults;
};

const coinFaults = async (sql: Sql, entries: readonly LogEntry[]): Promise<readonly LogFault[]> => {
  const faults: LogFault[] = [];
  for (const entry of entries) {
    if (entry.kind !== "coin") continue;
    const checkpoint = numberIn(entry, "checkpoint");
    const coinType = textIn(entry.body, "coinType");
    const end = (await coinEnds(sql, [coinType], checkpoint)).get(coinType) ?? NO_FACTS;
    const hash = Buffer.from(end.hash).toString("hex");
    if (hash === textIn(entry.body, "hash") && `${end.facts}` === entry.body.facts) continue;
    faults.push(
      faultOf(entry, checkpoint, `has another end of the facts of ${coinType} than log_coin_chain`),
    );
  }
  return faults;
};

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
      if ((stored.get(last) ?? made.get(last)) === textIn(entry.body, "hash")) continue;
      const what = `does not fit times and digests of checkpoints ${from} to ${last} in log_blocks`;
      faults.push(faultOf(entry, last, what));
    }
  }
  return faults;
};

const inputsFaults = async (
  sql: Sql,
  entries: readonly LogEntry[],
): Promise<readonly LogFault[]> => {
  const faults: LogFault[] = [];
  const stretches = await inputStretches(sql);
  for (const entry of entries) {
    if (entry.kind !== "inputs") continue;
    const [from, through] = [numberIn(entry, "from"), numberIn(entry, "through")];
    const isKnown = stretches.some((stretch) => stretch.from === from && through < stretch.to);
    const end = isKnown ? await inputEnd(sql, { from, to: through + 1n }) : undefined;
    const hash = end?.checkpoint === through ? Buffer.from(end.hash).toString("hex") : "";
    if (hash === textIn(entry.body, "hash")) continue;
    const what = `has another hash of the inputs of checkpoints ${from} to ${through} than log_input_chain`;
    faults.push(faultOf(entry, through, what));
  }
  return faults;
};
