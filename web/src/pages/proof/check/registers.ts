/** The two registers of an audit pack: the roots that they give, and whether the movements lead from one to the other. */
import { AnswerFormError, reading, text } from "../../../data/read.ts";
import { countText } from "../../../shown/amount.ts";
import { loadSumTree } from "./client.ts";
import type { Files } from "./dropped.ts";
import type { Manifest } from "./manifest.ts";
import { type Step, skipped, stepOf } from "./report.ts";

const ROOTS = "Both registers give the roots that were signed";
const MOVEMENTS = "The movements lead from the first register to the last";

const readTable = reading("cap table", (it) => ({
  coinType: it.at("coinType").text(),
  checkpoint: it.at("checkpoint").text(),
  rows: it.at("rows").list((row) => ({
    holderId: row.at("holderId").maybe(text),
    wallets: row.at("wallets").list((wallet) => ({
      address: wallet.at("address").text(),
      balance: wallet.at("balance").amount(),
    })),
    balance: row.at("balance").amount(),
    tokens: row.at("tokens").amount(),
    granted: row.at("granted").amount(),
  })),
}));
type Table = ReturnType<typeof readTable>;

const readMovement = reading("movement", (it) => ({
  owner: it.at("owner").text(),
  change: it.at("change").amount(),
}));

/** Both steps; of files that were found to be those that were signed. */
export const registerSteps = async (files: Files, manifest: Manifest): Promise<readonly Step[]> => {
  try {
    const [first, last] = [await tableIn(files, "first"), await tableIn(files, "last")];
    const faults = [
      ...(await rootFaults("first", first, manifest)),
      ...(await rootFaults("last", last, manifest)),
    ];
    const moved = await movedIn(files);
    return [
      stepOf(
        ROOTS,
        faults,
        `${countText(first.rows.length)} and ${countText(last.rows.length)} rows were hashed and added up.`,
      ),
      stepOf(
        MOVEMENTS,
        movementFaults(first, last, moved.changes),
        `${countText(moved.count)} movements account for every change of every wallet.`,
      ),
    ];
  } catch (error) {
    if (!(error instanceof AnswerFormError) && !(error instanceof SyntaxError)) throw error;
    return [
      stepOf(ROOTS, ["A register or movement is not in the form that this page knows."], ""),
      skipped(MOVEMENTS),
    ];
  }
};

/** When the files are not those that were signed. */
export const skippedRegisters: readonly Step[] = [skipped(ROOTS), skipped(MOVEMENTS)];

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
  const { rootOf } = await loadSumTree();
  const { coinType, checkpoint } = table;
  const rows = table.rows.map(({ balance, tokens, granted, ...row }) => ({
    ...row,
    balance: `${balance}`,
    tokens: `${tokens}`,
    granted: `${granted}`,
  }));
  const { root, total } = await rootOf({ coinType, checkpoint, rows });
  return [
    ...rowFaults(name, table),
    ...(root === signed.root && String(total) === signed.total
      ? []
      : [
          `the ${name} register gives the root ${root} of ${total}, not ${signed.root} of ${signed.total}`,
        ]),
  ];
};

/** The root is over the balances of rows: what each wallet of a row holds it does not tell. */
const rowFaults = (name: "first" | "last", { rows }: Table): readonly string[] => {
  const seen = new Set<string>();
  return rows.flatMap(({ wallets, balance, tokens, granted }, at) => {
    const held = wallets.reduce((sum, wallet) => sum + wallet.balance, 0n);
    const parts = [balance, tokens, granted, ...wallets.map((wallet) => wallet.balance)];
    const addsUp = held === balance && tokens + granted === balance;
    const twice = wallets.filter(({ address }) => seen.size === seen.add(address).size);
    return [
      ...(addsUp && parts.every((part) => part >= 0n)
        ? []
        : [`row ${at + 1} of the ${name} register does not add up to its balance`]),
      ...twice.map(({ address }) => `${address} is twice in the ${name} register`),
    ];
  });
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
