/** The two registers of an audit pack: their form, their sums, their roots. */
import { comparePlaces, placeOf, shareOf } from "./cap-rows.ts";
import { isFormed } from "./forms.ts";
import { type Failure, fail, stopAt } from "./pack-error.ts";
import { linesOf, type PackFiles, parsed } from "./pack-files.ts";
import {
  type PackManifest,
  type PackMark,
  type PackRoot,
  rowFaults,
  TABLES,
  type TableHead,
  tableHeadFaults,
} from "./pack-forms.ts";
import { createSumTree } from "./sum-tree.ts";
import type { StatementRow } from "./verify-statement.ts";

/** By address. */
export type Wallets = ReadonlyMap<string, Wallet>;

type Wallet = {
  readonly balance: bigint;
  readonly holderId: string | null;
  readonly groupId: string | null;
  readonly isFrozen: boolean;
};

export type Register = {
  readonly head: TableHead;
  readonly wallets: Wallets;
  readonly rows: number;
};

/** Limit in characters: a row with the maximum number of wallets. */
export const LONGEST_ROW = 2 ** 21;

/** Limit of listed faults per table. */
const LISTED = 100;

/** Reads a register line by line: the head, then the rows. @throws AuditPackError */
export const registerOf = async (
  pack: PackFiles,
  name: "first" | "last",
  manifest: PackManifest,
  signal?: AbortSignal,
): Promise<Register> => {
  const file = TABLES[name];
  const lines = linesOf(pack, file, LONGEST_ROW);
  const head = headIn(file, (await lines.next()).value ?? "");
  const { coinType } = manifest;
  const faults = headFaults(name, head, manifest[name], manifest.roots[name], coinType);
  const failures: Failure[] = faults.map((what) => ({ file, what }));
  stopAt(failures);
  const wallets = new Map<string, Wallet>();
  const tree = createSumTree();
  let rows = 0;
  let before: { readonly row: StatementRow; readonly hasNext: boolean } | undefined;
  let isEnded = false;
  for await (const line of lines) {
    signal?.throwIfAborted();
    if (isEnded) fail(file, "goes on behind the end of its table");
    if (line === "]}") {
      isEnded = true;
      if (before?.hasNext) fail(file, "a row is missing behind the last comma");
      continue;
    }
    const at = rows + 1;
    if (at > head.holderCount)
      fail(file, `has more than the ${head.holderCount} rows that it counts`);
    if (before !== undefined && !before.hasNext) fail(file, `row ${at} has no comma before it`);
    const row = rowIn(file, line, at);
    for (const what of faultsIn(row, before?.row, head, wallets)) {
      failures.push({ file, what: `row ${at} ${what}` });
    }
    if (failures.length > LISTED) break;
    before = { row, hasNext: line.endsWith(",") };
    tree.add({ coinType, checkpoint: head.checkpoint, row });
    rows += 1;
  }
  stopAt(failures);
  if (!isEnded) fail(file, "ends before its table does");
  const { root, total } = tree.top();
  const signed = manifest.roots[name];
  if (root !== signed.root || String(total) !== signed.total) {
    fail(file, `gives the root ${root} of ${total}, not ${signed.root} of ${signed.total}`);
  }
  if (rows !== head.holderCount) {
    fail(file, `has ${rows} rows, not ${head.holderCount}`);
  }
  return { head, wallets, rows };
};

/** JSON as a cap table prints it: no spaces, no duplicate members. */
const printed = <T>(
  file: string,
  text: string,
  place: string,
  faultsOf: (json: unknown) => readonly string[],
): T => {
  const json = parsed(file, text, place);
  const faults = faultsOf(json);
  if (!isFormed<T>(json, faults)) return fail(file, `${place}${faults[0]}`);
  if (JSON.stringify(json) !== text) fail(file, `${place}is not as a cap table is printed`);
  return json;
};

const headIn = (file: string, line: string) =>
  printed<TableHead>(file, `${line}]}`, "the head: ", tableHeadFaults);

const rowIn = (file: string, line: string, at: number) => {
  const text = line.endsWith(",") ? line.slice(0, -1) : line;
  return printed<StatementRow>(file, text, `row ${at}: `, rowFaults);
};

const headFaults = (
  name: "first" | "last",
  head: TableHead,
  mark: PackMark,
  signed: PackRoot,
  coinType: string,
) => {
  const isOther = (what: string, value: string, of: string) =>
    value === of ? [] : [`has the ${what} ${value}, not ${of}, as the manifest says`];
  const { totalSupply, issued, holderCount } = head;
  return [
    ...isOther("coin type", head.coinType, coinType),
    ...isOther("checkpoint", head.checkpoint, mark.checkpoint),
    ...isOther("digest", head.checkpointDigest, mark.digest),
    ...isOther("time", head.checkpointTimestamp, String(BigInt(mark.timestampMs) / 1_000n)),
    ...isOther("root", head.root, signed.root),
    ...isOther("total", issued, signed.total),
    // Before the token exists, its register is empty.
    ...(totalSupply === null && (name === "last" || issued !== "0" || holderCount !== 0)
      ? ["has no supply of a treasury: no register is without it"]
      : []),
    ...(totalSupply === null || totalSupply === issued
      ? []
      : [
          `all rows come to ${issued}, but the treasury has issued ${totalSupply}: tokens or grants are missing`,
        ]),
  ];
};

/**
 * Contradictions within a row, or with the row before or the table; adds its wallets to `wallets`.
 */
const faultsIn = (
  row: StatementRow,
  before: StatementRow | undefined,
  { issued }: TableHead,
  known: Map<string, Wallet>,
) => {
  const faults: string[] = [];
  const { holderId, wallets } = row;
  const balance = BigInt(row.balance);
  const granted = BigInt(row.granted);
  const held = wallets.reduce((sum, wallet) => sum + BigInt(wallet.balance), 0n);
  if (held !== balance || BigInt(row.tokens) + granted !== balance) {
    faults.push("does not add up to its balance");
  }
  if (BigInt(row.unlocked) + BigInt(row.locked) !== granted) {
    faults.push("has unlocked and locked parts that do not come to what is granted");
  }
  if (balance === 0n) faults.push("holds nothing");
  if (row.share !== shareOf(balance, BigInt(issued))) faults.push("has another share than its own");
  if (holderId === null && wallets.length !== 1) {
    faults.push(`is of no holder, but of ${wallets.length} wallets`);
  }
  for (const [at, wallet] of wallets.entries()) {
    const { address } = wallet;
    if (known.has(address)) faults.push(`has ${address}, which is there twice`);
    else if ((wallets[at - 1]?.address ?? "") > address) {
      faults.push(`has ${address} out of its order`);
    }
    const { groupId, isFrozen } = wallet;
    known.set(address, { balance: BigInt(wallet.balance), holderId, groupId, isFrozen });
  }
  if (before !== undefined && comparePlaces(placeOf(before), placeOf(row)) >= 0)
    faults.push("stands out of its order");
  return faults;
};
