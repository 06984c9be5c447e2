/** Paper 2: from the opening balance to the closing one, by cause. */
import { CAUSES, type Cause } from "../../projections/balance-changes.ts";
import {
  type Block,
  type Column,
  heading,
  type Paper,
  shortCode,
  strong,
  table,
  text,
} from "../document/document.ts";
import type { RowFlow } from "./roll-forward.ts";
import { amountsOf, flowsOf, rowText, SHORTENED, type Subject, TIES, timeText } from "./subject.ts";
import { rowName } from "./wallets.ts";

export const CAUSE_WORDS: Readonly<Record<Cause, string>> = {
  MINT: "minted",
  BURN: "burned",
  TRANSFER: "transferred",
  FORCE_TRANSFER: "transferred by force",
  GRANT_FUNDED: "put into grants",
  GRANT_CLAIMED: "claimed from grants",
  GRANT_CANCELLED: "cancelled grants",
  UNKNOWN: "unknown",
};

const GRANT_CAUSES = ["GRANT_FUNDED", "GRANT_CLAIMED", "GRANT_CANCELLED"] as const;

export const rollForwardPaper = (subject: Subject): Paper => ({
  number: "2",
  title: "Roll-forward by cause",
  file: "2-roll-forward",
  isLandscape: true,
  blocks: [
    text(
      "Opening balances, movements between the dates by cause, closing balances. The movements follow from transactions that the validators signed; the cause of a movement is the one that explains most of it. A transfer is two movements, one of each wallet. Tokens are what wallets hold themselves, grants what vesting grants hold for them.",
    ),
    ...asSigned(subject),
    ...balances(subject),
    ...flows(subject),
    ...locked(subject),
    ...supply(subject),
    ...rows(subject),
    ...parts(subject),
  ],
});

/** Without facts, the opening rests on the deployment's signature alone. */
const asSigned = ({ outcome: { items, itemsProven } }: Subject): readonly Block[] =>
  items === itemsProven
    ? []
    : [
        text(
          `${items - itemsProven} of the ${items} objects, memberships and roles of the opening register are not proven: they stand as the deployment signed them.`,
        ),
      ];

const amountColumn = (title: string, width = 14) => ({ title, width, isNumber: true });

const HOLDER: Column = { title: "holder, or wallet of none", width: 20 };

const balances = (subject: Subject): readonly Block[] => {
  const { tie, manifest } = subject;
  const amount = amountsOf(subject);
  const row = (name: string, of: (part: "TOKENS" | "GRANTS") => bigint) => [
    name,
    amount(of("TOKENS")),
    amount(of("GRANTS")),
    amount(of("TOKENS") + of("GRANTS")),
  ];
  return [
    heading("Balances"),
    table({
      columns: [
        { title: "", width: 40 },
        amountColumn("tokens"),
        amountColumn("grants"),
        amountColumn("together"),
      ],
      rows: [
        row(
          `opening register, ${timeText(manifest.first.timestampMs)}`,
          (part) => tie.opening[part],
        ),
        row("movements between", (part) => tie.computed[part] - tie.opening[part]),
        row("closing, computed", (part) => tie.computed[part]),
        row(
          `closing register, ${timeText(manifest.last.timestampMs)}`,
          (part) => tie.closing[part],
        ),
        row("difference", (part) => tie.closing[part] - tie.computed[part]),
        ["to the smallest unit", TIES, TIES, TIES],
      ],
    }),
  ];
};

const flows = (subject: Subject): readonly Block[] => {
  const { rollForward } = subject.gathered;
  const amount = flowsOf(subject);
  const of = CAUSES.map((cause) => ({
    cause,
    tokens: rollForward.flow(cause, "TOKENS"),
    grants: rollForward.flow(cause, "GRANTS"),
  }));
  const zero = { count: 0, more: 0n, less: 0n };
  const total = of.reduce(
    (sum, { tokens, grants }) => ({
      tokens: plus(sum.tokens, tokens),
      grants: plus(sum.grants, grants),
    }),
    { tokens: zero, grants: zero },
  );
  const row = (name: string, { tokens, grants }: Omit<(typeof of)[number], "cause">) => [
    name,
    `${tokens.count + grants.count}`,
    amount(tokens.more),
    amount(-tokens.less),
    amount(grants.more),
    amount(-grants.less),
    amount(tokens.more - tokens.less + grants.more - grants.less),
  ];
  return [
    heading("Movements by cause"),
    table({
      columns: [
        { title: "cause", width: 18 },
        amountColumn("movements", 9),
        amountColumn("tokens +"),
        amountColumn("tokens -"),
        amountColumn("grants +"),
        amountColumn("grants -"),
        amountColumn("change"),
      ],
      rows: of.map((one) => row(CAUSE_WORDS[one.cause], one)),
      total: row("all", total),
    }),
  ];
};

type Sums = { readonly count: number; readonly more: bigint; readonly less: bigint };

const plus = (a: Sums, b: Sums): Sums => ({
  count: a.count + b.count,
  more: a.more + b.more,
  less: a.less + b.less,
});

const locked = (subject: Subject): readonly Block[] => {
  const amount = amountsOf(subject);
  const registers = [subject.outcome.first, subject.outcome.last];
  const row = (name: string, part: "granted" | "unlocked" | "locked") => [
    name,
    ...registers.map(({ rows: of }) => amount(of.reduce((sum, one) => sum + one[part], 0n))),
  ];
  return [
    heading("Locked and unlocked"),
    table({
      columns: [{ title: "", width: 40 }, amountColumn("opening"), amountColumn("closing")],
      rows: [
        row("in grants", "granted"),
        row("of that unlocked: could be claimed", "unlocked"),
        row("of that locked", "locked"),
      ],
    }),
  ];
};

/** Sums of the contract's events beside those of its treasury. */
const supply = (subject: Subject): readonly Block[] => {
  const { first, last } = subject.outcome;
  const { minted, burned } = subject.gathered;
  const amount = amountsOf(subject);
  const opening = first.head.totalSupply ?? 0n;
  const closing = last.head.totalSupply ?? 0n;
  const difference = closing - (opening + minted - burned);
  return [
    heading("Supply"),
    table({
      columns: [{ title: "", width: 40 }, amountColumn("amount")],
      rows: [
        [
          first.head.totalSupply === null
            ? "opening: the treasury was not there yet"
            : "opening, as the treasury says",
          amount(opening),
        ],
        ["minted, as the contract's events say", amount(minted)],
        ["burned, as the contract's events say", amount(-burned)],
        ["closing, computed", amount(opening + minted - burned)],
        ["closing, as the treasury says", amount(closing)],
        [
          `difference${difference === 0n ? "" : ": the contract changed its supply without an event"}`,
          amount(difference),
        ],
        ["to the smallest unit", difference === 0n ? TIES : "does not tie"],
      ],
    }),
  ];
};

const rows = (subject: Subject): readonly Block[] => {
  const amount = amountsOf(subject);
  const flow = flowsOf(subject);
  const columns = [
    ...(["MINT", "BURN", "TRANSFER", "FORCE_TRANSFER"] as const).map((cause) => ({
      title: CAUSE_WORDS[cause],
      of: ({ byCause }: RowFlow) => byCause.get(cause) ?? 0n,
    })),
    {
      title: "grants",
      of: ({ byCause }: RowFlow) =>
        GRANT_CAUSES.reduce((sum, cause) => sum + (byCause.get(cause) ?? 0n), 0n),
    },
    { title: "unknown", of: ({ byCause }: RowFlow) => byCause.get("UNKNOWN") ?? 0n },
    { title: "wallets", of: ({ passed }: RowFlow) => passed },
  ];
  const sum = (of: (row: RowFlow) => bigint) =>
    subject.rows.reduce((all, row) => all + of(row), 0n);
  return [
    heading("By holder"),
    text(
      "Tokens and grants together; a dash is zero. A movement counts for the holder whom its wallet belonged to then; what a wallet held when it came to a holder or left it is in the column wallets. Every row ties to both registers. ",
      SHORTENED,
    ),
    table({
      columns: [
        HOLDER,
        amountColumn("opening"),
        ...columns.map(({ title }) => amountColumn(title)),
        amountColumn("closing"),
        { title: "", width: 4 },
      ],
      rows: subject.rows.map((row) => [
        rowText(row.row, shortCode),
        flow(row.opening),
        ...columns.map(({ of }) => flow(of(row))),
        flow(row.closing),
        TIES,
      ]),
      total: [
        strong("all"),
        amount(sum(({ opening }) => opening)),
        ...columns.map(({ of }) => flow(sum(of))),
        amount(sum(({ closing }) => closing)),
        TIES,
      ],
    }),
  ];
};

/** The wallets of each row in both registers. */
const parts = (subject: Subject): readonly Block[] => {
  const flow = flowsOf(subject);
  const of = [subject.outcome.first, subject.outcome.last].map(
    ({ rows: of }) => new Map(of.map((row) => [rowName(row), row])),
  );
  const columns = (["opening", "closing"] as const).flatMap((title, at) =>
    (["tokens", "granted", "unlocked", "locked"] as const).map((part) => ({
      title: `${title} ${part === "granted" ? "grants" : part}`,
      of: (name: string) => of[at]?.get(name)?.[part] ?? 0n,
    })),
  );
  return [
    heading("Tokens and grants by holder"),
    text("Grants are unlocked and locked together. A dash is zero."),
    table({
      columns: [HOLDER, ...columns.map(({ title }) => amountColumn(title))],
      rows: subject.rows.map(({ row }) => [
        rowText(row, shortCode),
        ...columns.map((column) => flow(column.of(row))),
      ]),
      total: [
        strong("all"),
        ...columns.map((column) =>
          flow(subject.rows.reduce((sum, { row }) => sum + column.of(row), 0n)),
        ),
      ],
    }),
  ];
};
