/** Cap tables of two deployments: row by row, and by the root that the other one's rows give here. */
import { z } from "zod";
import { createSumTree } from "../projections/merkle-sum.ts";
import { assertInOrder, compareRows, type Difference, membersApart } from "./compare-rows.ts";
import {
  comparePlaces,
  numberIn,
  PAGE,
  type Place,
  type Row,
  rowsIn,
  textIn,
} from "./compared-lists.ts";
import { type Answered, NotAnsweredError, type Register } from "./other-deployment.ts";

const QUERY = `query ($coinType: String!, $at: String!, $after: String, $limit: Int) {
  token(coinType: $coinType, atCheckpoint: $at) { totalSupply holderCount ownerCount firstCheckpoint }
  capTable(coinType: $coinType, atCheckpoint: $at, after: $after, limit: $limit) {
    checkpoint checkpointTimestamp checkpointDigest followCursor totalSupply issued holderCount root
    rows { holderId balance tokens granted unlocked locked share cursor
           wallets { address balance groupId isFrozen } } } }`;

const head = z.record(z.string(), z.unknown()).nullable();

const wallets = z.array(z.object({ address: z.string() }));

/** Above every holder id. */
const NO_HOLDER = 2n ** 64n;

const addressesIn = (row: Row): readonly string[] => {
  const read = wallets.safeParse(row.wallets);
  if (!read.success) throw new NotAnsweredError("a row of a cap table has no wallets");
  return read.data.map(({ address }) => address);
};

const holderIn = (row: Row): bigint | null =>
  row.holderId === null ? null : numberIn(row, "holderId");

const place = (row: Row): Place => {
  const holderId = holderIn(row);
  const address = holderId === null ? (addressesIn(row)[0] ?? "") : "";
  return [-numberIn(row, "balance"), holderId ?? NO_HOLDER, address];
};

const key = (row: Row): string => {
  const holderId = holderIn(row);
  return holderId === null ? `wallet ${addressesIn(row)[0] ?? ""}` : `holder ${holderId}`;
};

/** What a leaf commits to is of these sizes. @throws NotAnsweredError when it is not */
const amountIn = (row: Row, name: string): bigint => {
  const amount = numberIn(row, name);
  if (amount < 0n || amount >= 2n ** 128n) throw new NotAnsweredError(`${name} is ${amount}`);
  return amount;
};

/** Members of an answer about the whole table, beside its rows. */
const totalsIn = (data: Answered): { readonly totals: Row; readonly rows: readonly Row[] } => {
  const [table, token] = [head.safeParse(data.capTable), head.safeParse(data.token)];
  if (!table.success || !token.success) throw new NotAnsweredError("no cap table is answered");
  if (table.data === null) return { totals: { capTable: null }, rows: [] };
  const { rows, ...totals } = table.data;
  const counted = Object.entries(token.data ?? {}).map(([name, value]) => [`token.${name}`, value]);
  const [flat = {}] = rowsIn({ one: [{ ...totals, ...Object.fromEntries(counted) }] }, "one");
  return { totals: flat, rows: rowsIn({ rows }, "rows") };
};

export type ComparedCapTable = {
  readonly rows: number;
  /** Whether all rows were read, and so the root was made of them. */
  readonly isWhole: boolean;
  readonly differences: readonly Difference[];
};

/**
 * Compares the cap table of a coin at the end of a checkpoint.
 * @param mostPages of a longer one the first rows are compared, and the root as both say it
 */
export const compareCapTable = async (
  { here, there }: { readonly here: Register; readonly there: Register },
  {
    coinType,
    at,
    mostPages,
  }: {
    readonly coinType: string;
    readonly at: bigint;
    readonly mostPages: number;
  },
): Promise<ComparedCapTable> => {
  const of = { what: `capTable at checkpoint ${at}`, coinType };
  const ask = async (register: Register, after: string | undefined) =>
    totalsIn(
      await register.ask(QUERY, {
        coinType,
        at: `${at}`,
        limit: PAGE,
        ...(after !== undefined && { after }),
      }),
    );
  const differences: Difference[] = [];
  const tree = createSumTree();
  let [rows, stated, ownRoot]: [number, Row[string] | undefined, Row[string] | undefined] = [
    0,
    undefined,
    undefined,
  ];
  let [after, reached]: [string | undefined, Place | undefined] = [undefined, undefined];
  for (let pages = 0; pages < mostPages; pages += 1) {
    const [own, other] = await Promise.all([ask(here, after), ask(there, after)]);
    const apart = membersApart(own.totals, other.totals);
    if (apart !== null && pages === 0) differences.push({ ...of, row: "totals", ...apart });
    [stated, ownRoot] = [other.totals.root, own.totals.root];
    reached = assertInOrder({ place }, other.rows, reached);
    for (const row of other.rows) addLeaf(tree, coinType, at, row);
    const end = own.rows.length === PAGE ? own.rows.at(-1) : undefined;
    const inside = (row: Row) => end === undefined || comparePlaces(place(row), place(end)) <= 0;
    const compared = compareRows(of, own.rows, other.rows.filter(inside), { key });
    rows += compared.rows;
    differences.push(...compared.differences);
    const last = other.rows.at(-1);
    if (other.rows.length < PAGE || last === undefined || compared.differences.length > 0) {
      // What is behind rows that differ differs with them; a root of some rows says nothing.
      if (compared.differences.length > 0 && other.rows.length === PAGE)
        return { rows, isWhole: false, differences };
      const { root } = tree.top();
      if (root !== (stated ?? root) || root !== (ownRoot ?? root)) {
        differences.push({
          ...of,
          row: "root made of the rows that are served",
          here: { root: ownRoot ?? null },
          there: { root, stated: stated ?? null },
        });
      }
      return { rows, isWhole: true, differences };
    }
    after = textIn(last, "cursor");
  }
  return { rows, isWhole: false, differences };
};

const addLeaf = (
  tree: ReturnType<typeof createSumTree>,
  coinType: string,
  checkpoint: bigint,
  row: Row,
): void =>
  tree.add({
    coinType,
    checkpoint,
    holderId: holderIn(row),
    addresses: addressesIn(row),
    balance: amountIn(row, "balance"),
    tokens: amountIn(row, "tokens"),
    granted: amountIn(row, "granted"),
  });

const ROOT = `query ($coinType: String!, $at: String!) {
  capTable(coinType: $coinType, atCheckpoint: $at, limit: 1) { root issued checkpointDigest } }`;

/** Root, total and digest of a checkpoint as this deployment has them; null for a coin that it has not. */
export const ownRoot = async (
  here: Register,
  coinType: string,
  at: bigint,
): Promise<Row | null> => {
  const { capTable } = await here.ask(ROOT, { coinType, at: `${at}` });
  const [row = null] = capTable === null ? [] : rowsIn({ one: [capTable] }, "one");
  return row;
};
