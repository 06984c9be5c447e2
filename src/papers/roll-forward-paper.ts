/** Paper 2: from the opening balance to the closing one, by cause. */
import { CAUSES, type Cause } from "../projections/balance-changes.ts";
import { type Block, heading, type Paper, table, text } from "./document.ts";
import { amountsOf, rowText, type Subject, TIES, timeText } from "./subject.ts";

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
      "Opening balances, movements between the dates by cause, closing balances. The movements follow from transactions that the validators signed; the cause of a movement is the one that explains most of it. Tokens are what wallets hold themselves, grants what vesting grants hold for them.",
    ),
    ...asSigned(subject),
    ...balances(subject),
    ...flows(subject),
    ...locked(subject),
    ...supply(subject),
    ...rows(subject),
  ],
});

/** An opening that was not made of facts is no more than the deployment's word. */
const asSigned = ({ outcome: { standing, standingProven } }: Subject): readonly Block[] =>
  standing === standingProven
    ? []
    : [
        text(
          `${standing - standingProven} of the ${standing} objects, memberships and roles of the opening register are not proven: they stand as the deployment signed them.`,
        ),
      ];

const amountColumn = (title: string, width = 14) => ({ title, width, isNumber: true });

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
  const amount = amountsOf(subject);
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
      rows: [...of.map((one) => row(CAUSE_WORDS[one.cause], one)), row("all", total)],
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
        row("of it unlocked, and could be claimed", "unlocked"),
        row("of it locked", "locked"),
      ],
    }),
  ];
};

/** What the contract's own events say, beside what its treasury says. */
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
  const causes = ["MINT", "BURN", "TRANSFER", "FORCE_TRANSFER"] as const;
  return [
    heading("By holder"),
    text(
      "Tokens and grants together. A movement counts for the holder whom its wallet belonged to then; what a wallet held when it came to a holder or left it is in its own column. Every row ties to both registers.",
    ),
    table({
      columns: [
        { title: "holder, or wallet of none", width: 16 },
        amountColumn("opening"),
        ...causes.map((cause) => amountColumn(CAUSE_WORDS[cause])),
        amountColumn("grants"),
        amountColumn("unknown"),
        amountColumn("wallets"),
        amountColumn("closing"),
        { title: "", width: 4 },
      ],
      rows: subject.rows.map(({ row, opening, byCause, passed, closing }) => [
        rowText(row),
        amount(opening),
        ...causes.map((cause) => amount(byCause.get(cause) ?? 0n)),
        amount(GRANT_CAUSES.reduce((sum, cause) => sum + (byCause.get(cause) ?? 0n), 0n)),
        amount(byCause.get("UNKNOWN") ?? 0n),
        amount(passed),
        amount(closing),
        TIES,
      ]),
    }),
  ];
};
