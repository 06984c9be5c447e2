/** `docs/reference/vectors/cap-table.json`: leaves, nodes and roots of a cap table's tree. */
import { z } from "zod";
import { type CommittedRow2, hexOf, parentOf, rootOf } from "../../../client/sum-tree.ts";
import { statement2Of } from "../../../test/client/statement.ts";
import { type Case, type Judge, judged, vectorFile, verdictIf } from "./vector.ts";

const ABOUT =
  "The tree over the rows of a cap table. `hash`, `sum`, `root` and `total` of an input are what is claimed of it.";

const row = z.strictObject({
  holderId: z.string().nullable(),
  wallets: z.array(
    z.strictObject({
      address: z.string(),
      balance: z.string(),
      groupId: z.string().nullable(),
      isFrozen: z.boolean(),
    }),
  ),
  balance: z.string(),
  tokens: z.string(),
  granted: z.string(),
  unlocked: z.string(),
  locked: z.string(),
});
const table = {
  version: z.union([z.literal(1), z.literal(2)]),
  coinType: z.string(),
  checkpoint: z.string(),
  decimals: z.int().nullable(),
};
const node = z.strictObject({ hash: z.string(), sum: z.string() });
type Node = z.infer<typeof node>;

const isClaimed = (claimed: Node, { hash, sum }: Node) =>
  verdictIf(claimed.hash === hash && claimed.sum === sum, `the hash is ${hash} and the sum ${sum}`);

export const judgeLeaf: Judge = async (given) => {
  const {
    row: one,
    hash,
    sum,
    ...of
  } = z.strictObject({ ...table, ...node.shape, row }).parse(given);
  const { root, total } = await rootOf({ ...of, rows: [one] });
  return isClaimed({ hash, sum }, { hash: root, sum: `${total}` });
};

const bytesIn = ({ hash, sum }: Node) => ({ hash: Buffer.from(hash, "hex"), sum: BigInt(sum) });

export const judgeNode: Judge = (given) => {
  const { left, right, ...claimed } = z
    .strictObject({ left: node, right: node, ...node.shape })
    .parse(given);
  const { hash, sum } = parentOf(bytesIn(left), bytesIn(right));
  return isClaimed(claimed, { hash: hexOf(hash), sum: `${sum}` });
};

export const judgeRoot: Judge = async (given) => {
  const { root, total, ...of } = z
    .strictObject({ ...table, rows: z.array(row), root: z.string(), total: z.string() })
    .parse(given);
  const is = await rootOf(of);
  return isClaimed({ hash: root, sum: total }, { hash: is.root, sum: `${is.total}` });
};

/** The row of `formats.md`'s example. */
const ROW: CommittedRow2 = {
  holderId: "12",
  wallets: [{ address: `0x${"a".padStart(64, "0")}`, balance: "8", groupId: "1", isFrozen: false }],
  balance: "8",
  tokens: "5",
  granted: "3",
  unlocked: "1",
  locked: "2",
};
const LONE: CommittedRow2 = {
  ...ROW,
  holderId: null,
  wallets: [{ address: `0x${"f".repeat(64)}`, balance: "8", groupId: null, isFrozen: true }],
};

const { coinType } = statement2Of(0, 1);
const TABLE = { coinType, checkpoint: "7", decimals: 6 };
const VERSIONS = [1, 2] as const;

const rowsOf = (count: number): readonly CommittedRow2[] =>
  Array.from({ length: count }, (__, at) => {
    const { share: _, ...own } = statement2Of(at, count).row;
    return own;
  });

const claimsOf = async (version: 1 | 2, rows: readonly CommittedRow2[], of = TABLE) => {
  const { root, total } = await rootOf({ ...of, version, rows });
  return { version, ...of, rows, root, total: `${total}` };
};

const leafCases = async (): Promise<readonly Case[]> => {
  const cases: Case[] = [];
  for (const version of VERSIONS) {
    const leafOf = async (of: typeof ROW, decimals: number | null = 6) => {
      const { root, total } = await rootOf({ ...TABLE, decimals, version, rows: [of] });
      return { version, ...TABLE, decimals, row: of, hash: root, sum: `${total}` };
    };
    const honest = await leafOf(ROW);
    const lie = (change: object) => ({ ...honest, row: { ...ROW, ...change } });
    const onlyIn2 = version === 2 ? "the hash is" : null;
    cases.push(
      [`version ${version}`, honest, null],
      [`version ${version}, no holder, frozen`, await leafOf(LONE), null],
      [
        `version ${version}, two wallets`,
        await leafOf({
          ...ROW,
          wallets: [...ROW.wallets, ...LONE.wallets],
          balance: "16",
          tokens: "13",
        }),
        null,
      ],
      [`version ${version}, the decimals not known`, await leafOf(ROW, null), null],
      [`version ${version}: another holder`, lie({ holderId: "13" }), "the hash is"],
      [`version ${version}: no holder`, lie({ holderId: null }), "the hash is"],
      [
        `version ${version}: a digit from one field to the next`,
        lie({ balance: "85", tokens: "" }),
        "the hash is",
      ],
      [
        `version ${version}: another group`,
        lie({ wallets: [{ ...ROW.wallets[0], groupId: null }] }),
        onlyIn2,
      ],
      [
        `version ${version}: a freeze`,
        lie({ wallets: [{ ...ROW.wallets[0], isFrozen: true }] }),
        onlyIn2,
      ],
      [`version ${version}: another part unlocked`, lie({ unlocked: "2", locked: "1" }), onlyIn2],
      [`version ${version}: other decimals`, { ...honest, decimals: 9 }, onlyIn2],
    );
  }
  return cases;
};

const nodeCases = async (): Promise<readonly Case[]> => {
  const [left, right] = [
    { hash: "11".repeat(32), sum: "5" },
    { hash: "22".repeat(32), sum: `${2n ** 64n}` },
  ];
  const { hash, sum } = parentOf(bytesIn(left), bytesIn(right));
  const honest = { left, right, hash: hexOf(hash), sum: `${sum}` };
  return [
    ["two children", honest, null],
    ["the children exchanged", { ...honest, left: right, right: left }, "the hash is"],
    [
      "a sum moved from child to child",
      { ...honest, left: { ...left, sum: "6" }, right: { ...right, sum: `${2n ** 64n - 1n}` } },
      "the hash is",
    ],
    ["another sum", { ...honest, sum: "5" }, "the hash is"],
  ];
};

const rootCases = async (): Promise<readonly Case[]> => {
  const cases: Case[] = [];
  for (const version of VERSIONS) {
    for (const rows of [0, 1, 2, 3, 5, 8]) {
      cases.push([`version ${version}, ${rows} rows`, await claimsOf(version, rowsOf(rows)), null]);
    }
    const honest = await claimsOf(version, rowsOf(5));
    const { rows } = honest;
    cases.push(
      [`version ${version}: a row is left out`, { ...honest, rows: rows.slice(1) }, "the hash is"],
      [
        `version ${version}: two rows exchanged`,
        { ...honest, rows: [rows[1], rows[0], ...rows.slice(2)] },
        "the hash is",
      ],
      [
        `version ${version}: the last row doubled instead of moved up`,
        { ...honest, rows: [...rows, rows[4]] },
        "the hash is",
      ],
      [
        `version ${version}: rows of another checkpoint`,
        { ...honest, checkpoint: "8" },
        "the hash is",
      ],
      [
        `version ${version}: an empty table with a total`,
        { ...(await claimsOf(version, [])), total: "1" },
        "the hash is",
      ],
    );
  }
  return cases;
};

export const tableVectors = async (): Promise<string> =>
  vectorFile(ABOUT, {
    leaf: await judged(judgeLeaf, await leafCases()),
    node: await judged(judgeNode, await nodeCases()),
    root: await judged(judgeRoot, await rootCases()),
  });
