/** Paper 3: events that an auditor examines individually. */

import type { CapRow } from "../../projections/cap-rows.ts";
import {
  type Block,
  type Column,
  code,
  type FirstRows,
  heading,
  type Inline,
  type Paper,
  shortCode,
  strong,
  table,
  text,
} from "../document/document.ts";
import { FILES } from "../pack/form.ts";
import type { Changed, Moved } from "./gather.ts";
import { CAUSE_WORDS } from "./roll-forward-paper.ts";
import {
  amountsOf,
  HOLDS,
  PART_WORDS,
  PLACE,
  placeCells,
  rowText,
  SHORTENED,
  type Subject,
} from "./subject.ts";

export const exceptionsPaper = (subject: Subject): Paper => ({
  number: "3",
  title: "Exceptions",
  file: "3-exceptions",
  isLandscape: true,
  blocks: [
    text(
      "Each list has all that the pack contains; none means that the pack contains none. That nothing of the range is missing in the pack: ",
      strong(HOLDS.get(subject.verdict.complete.holds) ?? "is false"),
      " (paper 1, complete). ",
      SHORTENED,
    ),
    ...forced(subject),
    ...freezes(subject),
    ...roles(subject),
    ...movements(
      subject,
      "Movements of frozen wallets",
      "The wallet was frozen before the transaction, or by it.",
      subject.gathered.whileFrozen,
    ),
    ...withoutHolder(subject),
    ...movements(
      subject,
      "Movements of unknown cause",
      "No event of the transaction explains most of the amount.",
      subject.gathered.unknown,
    ),
    ...movements(
      subject,
      "Cancelled grants",
      "Amounts that left a grant unclaimed, and the wallets that received them.",
      subject.gathered.cancelled,
    ),
    ...changes(subject),
    ...acts(subject),
  ],
});

/** A list under its heading, or a note that it is empty. */
const listed = <Row>(
  title: string,
  about: string,
  { rows, all }: { readonly rows: readonly Row[]; readonly all: number },
  at: string,
  columns: readonly Column[],
  cells: (row: Row) => readonly Inline[],
): readonly Block[] => [
  heading(`${title}: ${all === 0 ? "none" : all}`),
  text(about),
  ...(all === 0 ? [] : [table({ columns, rows: rows.map(cells), more: { all, at } })]),
];

const WALLET = { width: 12, isWhole: true };

const forced = (subject: Subject): readonly Block[] => {
  const amount = amountsOf(subject);
  return listed(
    "Forced transfers",
    "Transfers by the contract's force-transfer function, which needs no consent of the holder. The sender is the account that signed the transaction.",
    subject.gathered.forced,
    "the pack's checkpoints",
    [
      ...PLACE,
      { title: "from", ...WALLET },
      { title: "to", ...WALLET },
      { title: "amount", width: 12, isNumber: true },
      { title: "sender", ...WALLET },
    ],
    (row) => [
      ...placeCells(row),
      shortCode(row.from),
      shortCode(row.to),
      amount(row.amount),
      shortCode(row.sender),
    ],
  );
};

const freezes = ({ gathered, outcome }: Subject): readonly Block[] => {
  const frozen = ({ memberships }: typeof outcome.first) =>
    memberships.filter(({ aspect }) => aspect === "freeze").length;
  return listed(
    "Freezes and unfreezes",
    `Wallets frozen at the opening date: ${frozen(outcome.first)}; at the closing date: ${frozen(outcome.last)}.`,
    gathered.freezes,
    FILES.holderEvents,
    [
      ...PLACE,
      { title: "wallet", ...WALLET },
      { title: "holder", width: 10 },
      { title: "event", width: 9 },
      { title: "sender", ...WALLET },
    ],
    (row) => [
      ...placeCells(row),
      shortCode(row.address ?? ""),
      ofHolder(row),
      row.isFrozen ? "frozen" : "unfrozen",
      shortCode(row.sender),
    ],
  );
};

const ofHolder = ({ row }: Pick<Changed, "row">): Inline =>
  row === "" || row.startsWith("0x") ? "no holder" : rowText(row);

const roles = ({ gathered }: Subject): readonly Block[] =>
  listed(
    "Role changes",
    "Roles granted and revoked, and the account that signed.",
    gathered.roles,
    FILES.roleEvents,
    [
      ...PLACE,
      { title: "owner", ...WALLET },
      { title: "role", width: 24, isWhole: true },
      { title: "event", width: 9 },
      { title: "sender", ...WALLET },
    ],
    (row) => [
      ...placeCells(row),
      shortCode(row.owner),
      shortCode(row.role),
      row.granted ? "granted" : "revoked",
      shortCode(row.signer),
    ],
  );

export const MOVEMENT: readonly Column[] = [
  ...PLACE,
  { title: "wallet", ...WALLET },
  { title: "holder", width: 10, isWhole: true },
  { title: "part", width: 8, isWhole: true },
  { title: "cause", width: 12, isWhole: true },
  { title: "change", width: 12, isNumber: true },
  { title: "balance after", width: 12, isNumber: true },
];

export const movementCells = (subject: Subject) => {
  const amount = amountsOf(subject);
  return (row: Moved): readonly Inline[] => [
    ...placeCells(row),
    shortCode(row.owner),
    ofHolder(row),
    PART_WORDS[row.part],
    CAUSE_WORDS[row.cause],
    amount(row.change),
    amount(row.balanceAfter),
  ];
};

const movements = (
  subject: Subject,
  title: string,
  about: string,
  found: FirstRows<Moved>,
): readonly Block[] =>
  listed(title, about, found, FILES.movements, MOVEMENT, movementCells(subject));

const withoutHolder = (subject: Subject): readonly Block[] => {
  const { first, last } = subject.outcome;
  const amount = amountsOf(subject);
  const held = new Map<string, { before: bigint; after: bigint }>();
  const of = ({ wallets }: CapRow) => {
    const wallet = wallets[0]?.address ?? "";
    const known = held.get(wallet) ?? { before: 0n, after: 0n };
    held.set(wallet, known);
    return known;
  };
  for (const row of last.rows) if (row.holderId === null) of(row).after = row.balance;
  for (const row of first.rows) if (row.holderId === null) of(row).before = row.balance;
  const rows = [...held];
  return listed(
    "Wallets without holder, with a balance",
    "Wallets that the register assigns to no holder, with their balances at either date while unassigned.",
    { rows, all: rows.length },
    FILES.lastTable,
    [
      { title: "wallet", width: 30, isWhole: true },
      { title: "opening", width: 12, isNumber: true },
      { title: "closing", width: 12, isNumber: true },
    ],
    ([wallet, { before, after }]) => [code(wallet), amount(before), amount(after)],
  );
};

const changes = ({ gathered }: Subject): readonly Block[] =>
  listed(
    "Changes of holders and groups",
    "Changes of the register of holders itself.",
    gathered.changes,
    FILES.holderEvents,
    [
      ...PLACE,
      { title: "event", width: 14, isWhole: true },
      { title: "holder", width: 8, isNumber: true },
      { title: "wallet", ...WALLET },
      { title: "group", width: 7, isNumber: true },
      { title: "sender", ...WALLET },
    ],
    (row) => [
      ...placeCells(row),
      row.eventType.replaceAll("_", " "),
      row.holderId === null ? "" : `${row.holderId}`,
      row.address === null ? "" : shortCode(row.address),
      row.groupId === null ? "" : `${row.groupId}`,
      shortCode(row.sender),
    ],
  );

/** Operators' acts are as the deployment signed them: the ledger has none. */
const acts = ({ outcome }: Subject): readonly Block[] => {
  if (outcome.acts === null) {
    return [
      heading("Operators' acts: not in this pack"),
      text("Packs before version 3 do not hold them."),
    ];
  }
  return listed(
    "Operators' acts",
    "Commands on the coin and on the whole deployment until the pack was made, including those before the period. The deployment's signature alone stands behind them: nothing in the pack proves that there were no others.",
    { rows: outcome.acts, all: outcome.acts.length },
    FILES.acts,
    [
      { title: "no.", width: 5, isNumber: true },
      { title: "time (UTC)", width: 11, isWhole: true },
      { title: "command", width: 18 },
      { title: "details", width: 34 },
      { title: "user", width: 12 },
      { title: "host", width: 14 },
      { title: "database role", width: 12 },
      { title: "on", width: 10 },
      { title: "entry", width: 7, isNumber: true },
    ],
    ({ number, at, command, details, by, scope, entry }) => [
      number,
      at,
      code(command),
      code(
        Object.entries(details)
          .map(([name, value]) => `${name}: ${value}`)
          .join(", "),
      ),
      code(by.user),
      code(by.host),
      code(by.role),
      scope === "coin" ? "the coin" : "all",
      entry ?? "none",
    ],
  );
};
