/** The two registers of an audit pack: the roots that they give, and whether the movements lead from one to the other. */
import { AnswerFormError, type Reader, reading } from "../../../data/read.ts";
import { countText } from "../../../shown/amount.ts";
import { loadSignatures } from "./client.ts";
import type { Files } from "./dropped.ts";
import type { Manifest } from "./manifest.ts";
import type { Step } from "./report.ts";

type Row = {
  readonly holderId: string | null;
  readonly wallets: readonly { readonly address: string; readonly balance: bigint }[];
  readonly balance: bigint;
  readonly tokens: bigint;
  readonly granted: bigint;
};

type Table = {
  readonly coinType: string;
  readonly checkpoint: string;
  readonly rows: readonly Row[];
};

/** Rows that are hashed before the page may draw again. */
const AT_ONCE = 2_000;
/** So many findings are listed. */
const LISTED = 20;

const readTable = reading(
  "cap table",
  (it): Table => ({
    coinType: it.at("coinType").text(),
    checkpoint: it.at("checkpoint").text(),
    rows: it.at("rows").list(
      (row): Row => ({
        holderId: row.at("holderId").maybe((id) => id.text()),
        wallets: row.at("wallets").list((wallet) => ({
          address: wallet.at("address").text(),
          balance: wallet.at("balance").amount(),
        })),
        balance: row.at("balance").amount(),
        tokens: row.at("tokens").amount(),
        granted: row.at("granted").amount(),
      }),
    ),
  }),
);

const readMovement = reading("movement", (it: Reader) => ({
  owner: it.at("owner").text(),
  change: it.at("change").amount(),
}));

/** Both steps; of files that were found to be those that were signed. */
export const registerSteps = async (files: Files, manifest: Manifest): Promise<readonly Step[]> => {
  const roots = "Both registers give the roots that were signed";
  const movements = "The movements lead from the first register to the last";
  try {
    const [first, last] = [await tableIn(files, "first"), await tableIn(files, "last")];
    const faults = [
      ...(await rootFaults("first", first, manifest)),
      ...(await rootFaults("last", last, manifest)),
    ];
    const moved = await movedIn(files);
    return [
      stepOf(
        roots,
        faults,
        `${countText(first.rows.length)} and ${countText(last.rows.length)} rows were hashed and added up.`,
      ),
      stepOf(
        movements,
        movementFaults(first, last, moved.changes),
        `${countText(moved.count)} movements account for every change of every wallet.`,
      ),
    ];
  } catch (error) {
    if (!(error instanceof AnswerFormError) && !(error instanceof SyntaxError)) throw error;
    const details = ["A register or movement is not in the form that this page knows."];
    return [
      { title: roots, result: "fails", details },
      { title: movements, result: "skipped", details: [] },
    ];
  }
};

/** When the files are not those that were signed. */
export const skippedRegisters: readonly Step[] = [
  { title: "Both registers give the roots that were signed", result: "skipped", details: [] },
  {
    title: "The movements lead from the first register to the last",
    result: "skipped",
    details: [],
  },
];

const stepOf = (title: string, faults: readonly string[], found: string): Step =>
  faults.length === 0
    ? { title, result: "holds", details: [found] }
    : {
        title,
        result: "fails",
        details:
          faults.length > LISTED
            ? [...faults.slice(0, LISTED), `and ${faults.length - LISTED} more`]
            : faults,
      };

const tableIn = async (files: Files, name: "first" | "last"): Promise<Table> =>
  readTable(JSON.parse((await files.get(`${name}/cap-table.json`)?.text()) ?? "null"));

const rootFaults = async (
  name: "first" | "last",
  table: Table,
  manifest: Manifest,
): Promise<readonly string[]> => {
  const [mark, signed] = [manifest[name], manifest.roots[name]];
  if (table.coinType !== manifest.coinType || table.checkpoint !== mark.checkpoint) {
    return [`the ${name} register is of another token or checkpoint than the manifest says`];
  }
  const { root, total } = await rootOf(table);
  return root === signed.root && String(total) === signed.total
    ? []
    : [
        `the ${name} register gives the root ${root} of ${total}, not ${signed.root} of ${signed.total}`,
      ];
};

type Node = { readonly hash: Uint8Array; readonly sum: bigint };

/** Of the Merkle sum tree over a table's rows; docs/how-to/audit.md has every hash. */
const rootOf = async ({ coinType, checkpoint, rows }: Table) => {
  const { blake2b } = await loadSignatures();
  const hash = (...parts: readonly Uint8Array[]): Uint8Array => {
    const hashing = blake2b.create({ dkLen: 32 });
    for (const part of parts) hashing.update(part);
    return hashing.digest();
  };
  let level: Node[] = [];
  for (const [index, row] of rows.entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) await drawn();
    level.push({
      hash: hash(
        Uint8Array.of(0),
        text(coinType),
        text(checkpoint),
        text(row.holderId ?? ""),
        number(BigInt(row.wallets.length), 4),
        ...row.wallets.map(({ address }) => text(address)),
        text(String(row.balance)),
        text(String(row.tokens)),
        text(String(row.granted)),
      ),
      sum: row.balance,
    });
  }
  while (level.length > 1) {
    const above: Node[] = [];
    for (let at = 0; at < level.length; at += 2) {
      const [left, right] = [level[at], level[at + 1]];
      if (left === undefined) continue;
      above.push(
        right === undefined
          ? left
          : {
              hash: hash(
                Uint8Array.of(1),
                left.hash,
                number(left.sum, 16),
                right.hash,
                number(right.sum, 16),
              ),
              sum: left.sum + right.sum,
            },
      );
    }
    level = above;
    await drawn();
  }
  const [top] = level;
  return {
    root: Array.from(top?.hash ?? [], (byte) => byte.toString(16).padStart(2, "0")).join(""),
    total: top?.sum ?? 0n,
  };
};

/** Lets the page draw and answer between two parts of long work. */
const drawn = () => new Promise((resolve) => setTimeout(resolve));

/** Unsigned and big-endian; sums of a table that is no table are hashed as what is left of them. */
const number = (value: bigint, bytes: number): Uint8Array =>
  Uint8Array.from({ length: bytes }, (_, at) =>
    Number((value >> BigInt(8 * (bytes - 1 - at))) & 255n),
  );

/** A text behind its length in bytes. */
const text = (value: string): Uint8Array => {
  const bytes = new TextEncoder().encode(value);
  return Uint8Array.of(...number(BigInt(bytes.length), 4), ...bytes);
};

/** What all movements come to, by wallet; read line by line, for they may be many. */
const movedIn = async (files: Files) => {
  const changes = new Map<string, bigint>();
  let count = 0;
  for await (const line of linesOf(files.get("movements.ndjson") ?? new Blob())) {
    const { owner, change } = readMovement(JSON.parse(line));
    changes.set(owner, (changes.get(owner) ?? 0n) + change);
    count += 1;
  }
  return { changes, count };
};

async function* linesOf(file: Blob): AsyncGenerator<string> {
  const reader = file.stream().getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (
      rest + (done ? decoder.decode() : decoder.decode(value, { stream: true }))
    ).split("\n");
    rest = done ? "" : (lines.pop() ?? "");
    for (const line of lines) if (line !== "") yield line;
    if (done) return;
  }
}

const movementFaults = (
  first: Table,
  last: Table,
  changes: ReadonlyMap<string, bigint>,
): readonly string[] => {
  const [before, after] = [balancesOf(first), balancesOf(last)];
  const wallets = new Set([...before.keys(), ...after.keys(), ...changes.keys()]);
  return [...wallets].flatMap((wallet) => {
    const [had, has] = [before.get(wallet) ?? 0n, after.get(wallet) ?? 0n];
    const change = changes.get(wallet) ?? 0n;
    return had + change === has ? [] : [`${wallet} held ${had}, moved ${change}, and holds ${has}`];
  });
};

const balancesOf = ({ rows }: Table): ReadonlyMap<string, bigint> =>
  new Map(
    rows.flatMap(({ wallets }) =>
      wallets.map(({ address, balance }) => [address, balance] as const),
    ),
  );
