/** Compares cap tables row by row, and by the root recomputed from the other one's rows. */
import { z } from "zod";
import type { CapRow } from "../../projections/cap-rows.ts";
import { createSumTree } from "../../projections/merkle-sum.ts";
import { type Answered, NotAnsweredError, type Register } from "./other-deployment.ts";
import { assertInOrder, compareRows, type Difference, membersApart } from "./rows.ts";
import {
  comparePlaces,
  numberIn,
  PAGE,
  type Row,
  type RowPlace,
  rowsIn,
  textIn,
} from "./served-rows.ts";

const QUERY = `query ($coinType: String!, $at: String!, $after: String, $limit: Int) {
  token(coinType: $coinType, atCheckpoint: $at) { totalSupply holderCount ownerCount firstCheckpoint }
  capTable(coinType: $coinType, atCheckpoint: $at, after: $after, limit: $limit) {
    checkpoint checkpointTimestamp checkpointDigest followCursor decimals totalSupply issued holderCount
    root root2: root(version: 2)
    rows { holderId balance tokens granted unlocked locked share cursor
           wallets { address balance groupId isFrozen } } } }`;

const head = z.record(z.string(), z.unknown()).nullable();

const amount = z
  .string()
  .regex(/^\d{1,38}$/)
  .transform(BigInt);

const wallets = z.array(
  z.object({
    address: z.string(),
    balance: amount,
    groupId: amount.nullable(),
    isFrozen: z.boolean(),
  }),
);

/** Above every holder id. */
const NO_HOLDER = 2n ** 64n;

const walletsIn = (row: Row): z.infer<typeof wallets> => {
  const read = wallets.safeParse(row.wallets);
  if (read.success) return read.data;
  throw new NotAnsweredError("the wallets of a row of a cap table are missing or malformed");
};

const addressesIn = (row: Row): readonly string[] => walletsIn(row).map(({ address }) => address);

const holderIn = (row: Row): bigint | null =>
  row.holderId === null ? null : numberIn(row, "holderId");

const place = (row: Row): RowPlace => {
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
  if (!table.success || !token.success) throw new NotAnsweredError("the answer has no cap table");
  if (table.data === null) return { totals: { capTable: null }, rows: [] };
  const { rows, ...totals } = table.data;
  const counted = Object.entries(token.data ?? {}).map(([name, value]) => [`token.${name}`, value]);
  const [flat = {}] = rowsIn({ one: [{ ...totals, ...Object.fromEntries(counted) }] }, "one");
  return { totals: flat, rows: rowsIn({ rows }, "rows") };
};

const pageOf = async (
  register: Register,
  coinType: string,
  at: bigint,
  after: string | undefined,
) =>
  totalsIn(
    await register.ask(QUERY, {
      coinType,
      at: `${at}`,
      limit: PAGE,
      ...(after !== undefined && { after }),
    }),
  );

type ComparedCapTable = {
  readonly rows: number;
  /** Whether all rows were read and the root recomputed. */
  readonly isWhole: boolean;
  readonly differences: readonly Difference[];
};

/**
 * Compares the cap table of a coin at the end of a checkpoint.
 * @param mostPages of a longer table, only the first rows and the stated roots are compared
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
  const ask = (register: Register, after: string | undefined) =>
    pageOf(register, coinType, at, after);
  const differences: Difference[] = [];
  const trees = { root: createSumTree(), root2: createSumTree() };
  let rows = 0;
  let [after, reached]: [string | undefined, RowPlace | undefined] = [undefined, undefined];
  for (let pages = 0; pages < mostPages; pages += 1) {
    const [own, other] = await Promise.all([ask(here, after), ask(there, after)]);
    const apart = membersApart(own.totals, other.totals);
    if (apart !== null && pages === 0) differences.push({ ...of, row: "totals", ...apart });
    reached = assertInOrder({ place }, other.rows, reached);
    const decimals = typeof other.totals.decimals === "number" ? other.totals.decimals : null;
    for (const row of other.rows) {
      const leaf = { coinType, checkpoint: at, row: capRowOf(row) };
      trees.root.add(leaf);
      trees.root2.add({ ...leaf, version: 2, decimals });
    }
    const end = own.rows.length === PAGE ? own.rows.at(-1) : undefined;
    const inside = (row: Row) => end === undefined || comparePlaces(place(row), place(end)) <= 0;
    const compared = compareRows(of, own.rows, other.rows.filter(inside), { key });
    rows += compared.rows;
    differences.push(...compared.differences);
    const last = other.rows.at(-1);
    if (other.rows.length < PAGE || last === undefined) {
      // Without a cap table there is no root.
      if (other.totals.root === undefined) return { rows, isWhole: true, differences };
      for (const name of ["root", "root2"] as const) {
        const { root: made } = trees[name].top();
        const [stated, ownRoot] = [other.totals[name] ?? null, own.totals[name] ?? null];
        if (made === stated && made === ownRoot) continue;
        const sides = { here: { [name]: ownRoot }, there: { [name]: made, stated } };
        differences.push({ ...of, row: `${name} made of the rows that are served`, ...sides });
      }
      return { rows, isWhole: true, differences };
    }
    // Everything after a difference differs too, and a partial root is meaningless.
    if (compared.differences.length > 0) break;
    after = textIn(last, "cursor");
  }
  return { rows, isWhole: false, differences };
};

const capRowOf = (row: Row): CapRow => ({
  holderId: holderIn(row),
  wallets: walletsIn(row),
  balance: amountIn(row, "balance"),
  tokens: amountIn(row, "tokens"),
  granted: amountIn(row, "granted"),
  unlocked: amountIn(row, "unlocked"),
  locked: amountIn(row, "locked"),
});

const ROOT = `query ($coinType: String!, $at: String!) {
  capTable(coinType: $coinType, atCheckpoint: $at, limit: 1) { root issued checkpointDigest decimals } }`;

/**
 * This deployment's root, total and checkpoint digest; null for a coin it does not know.
 * @param decimals covered by a version 2 root; undefined for version 1
 */
export const ownRoot = async (
  here: Register,
  coinType: string,
  at: bigint,
  decimals?: number | null,
): Promise<Row | null> => {
  const { capTable } = await here.ask(ROOT, { coinType, at: `${at}` });
  const [row] = capTable === null ? [] : rowsIn({ one: [capTable] }, "one");
  if (row === undefined) return null;
  const { decimals: known, ...stated } = row;
  if (decimals === undefined) return stated;
  // They may have been unknown when it was published.
  const root = await ownRoot2(here, coinType, at, decimals);
  return { ...stated, root, decimals: decimals === null ? null : (known ?? null) };
};

const ownRoot2 = async (
  here: Register,
  coinType: string,
  at: bigint,
  decimals: number | null,
): Promise<string> => {
  const tree = createSumTree();
  for (let after: string | undefined; ; ) {
    const { rows } = await pageOf(here, coinType, at, after);
    for (const row of rows) {
      tree.add({ coinType, checkpoint: at, version: 2, decimals, row: capRowOf(row) });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return tree.top().root;
    after = textIn(last, "cursor");
  }
};
