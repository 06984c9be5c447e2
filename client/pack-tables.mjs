/** The two registers of an audit pack: their form, their sums, their roots. */
import { fail, stopAt } from "./pack-error.mjs";
import { linesOf, parsed } from "./pack-files.mjs";
import { rowFaults, TABLES, tableHeadFaults } from "./pack-forms.mjs";
import { leafOf, rootOfLeaves } from "./sum-tree.mjs";
import { shareOf } from "./verify-statement.mjs";

/** A row of as many wallets as one may have. */
export const LONGEST_ROW = 2 ** 21;

/** So many faults of one table are enough. */
const LISTED = 100;

/**
 * A register's wallets, by address. Its file is read line by line: the head, then one row a line.
 * @returns also its head, as its JSON has it
 */
export const registerOf = async (pack, name, manifest, signal) => {
  const file = TABLES[name];
  const lines = linesOf(pack, file, LONGEST_ROW);
  const head = headIn(file, (await lines.next()).value ?? "");
  const failures = headFailures(
    name,
    head,
    manifest[name],
    manifest.roots[name],
    manifest.coinType,
  );
  stopAt(failures.map((what) => ({ file, what })));
  const wallets = new Map();
  const leaves = [];
  let before;
  let isEnded = false;
  for await (const line of lines) {
    signal?.throwIfAborted();
    if (isEnded) fail(file, "goes on behind the end of its table");
    if (line === "]}") {
      isEnded = true;
      if (before?.hasNext) fail(file, "a row is missing behind the last comma");
      continue;
    }
    const at = leaves.length + 1;
    if (at > head.holderCount)
      fail(file, `has more than the ${head.holderCount} rows that it counts`);
    if (before !== undefined && !before.hasNext) fail(file, `row ${at} has no comma before it`);
    const row = rowIn(file, line, at);
    for (const what of faultsIn(row, before?.row, head, wallets)) {
      failures.push({ file, what: `row ${at} ${what}` });
    }
    if (failures.length > LISTED) break;
    before = { row, hasNext: line.endsWith(",") };
    const { coinType, checkpoint } = head;
    leaves.push(leafOf({ coinType, checkpoint, row }));
  }
  stopAt(failures);
  if (!isEnded) fail(file, "ends before its table does");
  const { root, total } = await rootOfLeaves(leaves);
  const signed = manifest.roots[name];
  if (root !== signed.root || String(total) !== signed.total) {
    fail(file, `gives the root ${root} of ${total}, not ${signed.root} of ${signed.total}`);
  }
  if (leaves.length !== head.holderCount) {
    fail(file, `has ${leaves.length} rows, not ${head.holderCount}`);
  }
  return { head, wallets, rows: leaves.length };
};

/** JSON as it is printed: without spaces, and nothing twice. */
const inOrder = (file, text, place, faultsOf) => {
  const json = parsed(file, text, place);
  const [fault] = faultsOf(json);
  if (fault !== undefined) fail(file, `${place}${fault}`);
  if (JSON.stringify(json) !== text) fail(file, `${place}is not as a cap table is printed`);
  return json;
};

const headIn = (file, line) => inOrder(file, `${line}]}`, "the head: ", tableHeadFaults);

const rowIn = (file, line, at) =>
  inOrder(file, line.endsWith(",") ? line.slice(0, -1) : line, `row ${at}: `, rowFaults);

const headFailures = (name, head, mark, signed, coinType) => {
  const isOther = (what, value, of) =>
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

/** What of a row does not fit itself, the row before it, or the table. */
const faultsIn = (row, before, { issued }, known) => {
  const faults = [];
  const { holderId, wallets } = row;
  const [balance, granted] = [BigInt(row.balance), BigInt(row.granted)];
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
    else if (at > 0 && wallets[at - 1].address > address) {
      faults.push(`has ${address} out of its order`);
    }
    const { groupId, isFrozen } = wallet;
    known.set(address, { balance: BigInt(wallet.balance), holderId, groupId, isFrozen });
  }
  if (before !== undefined && !isBehind(row, before)) faults.push("stands out of its order");
  return faults;
};

/** The largest balance first, equal ones by holder, wallets of no holder behind them by address. */
const isBehind = (row, before) => {
  const [had, has] = [BigInt(before.balance), BigInt(row.balance)];
  if (had !== has) return had > has;
  if (before.holderId === null) {
    return row.holderId === null && before.wallets[0].address < row.wallets[0].address;
  }
  return row.holderId === null || BigInt(before.holderId) < BigInt(row.holderId);
};
