/** An audit pack's report, from verified data alone. */
import { canonicalJson } from "../../../client/canonical-json.ts";
import { shareOf } from "../../../client/cap-rows.ts";
import { inTokens } from "../../../client/in-tokens.ts";
import type { ActLine } from "../../../client/pack-forms.ts";
import { TIERS, type Tier } from "../../../client/verify-audit-pack.ts";
import type { CapRow } from "../../projections/cap-rows.ts";
import type { Outcome, ProvenRegister } from "./check.ts";
import { FILES, type PackHead } from "./form.ts";
import { completeness, consistency } from "./verdict.ts";

export const reportOf = (head: PackHead, outcome: Outcome): string => {
  const { first, last } = outcome;
  const { decimals } = last.head;
  // Nothing in a pack proves these. Version 1 states that only at the end.
  const asSigned = head.version === 1 ? "" : " (as signed, and not proven here)";
  const amount = (value: bigint) =>
    decimals === null ? value.toString() : inTokens(value, decimals);
  const table = (columns: readonly string[], rows: readonly (readonly string[])[]) => [
    `| ${columns.join(" | ")} |`,
    `| ${columns.map(() => "---").join(" | ")} |`,
    ...rows.map((cells) => `| ${cells.join(" | ")} |`),
  ];
  const moment = (
    name: string,
    { head: { checkpoint, checkpointDigest } }: ProvenRegister,
    timeMs: string,
  ) => [name, timeText(timeMs), `${checkpoint}`, `\`${checkpointDigest}\``] as const;
  const both = (name: string, of: (register: ProvenRegister) => string) =>
    [name, of(first), of(last)] as const;
  return [
    `# Audit pack: ${head.coinType}`,
    "",
    `Ledger: ${head.chainId}${asSigned}. Contract: ${head.packages.map((address) => `\`${address}\``).join(", ")}${asSigned}.`,
    `Amounts are in ${decimals === null ? "the smallest unit of the token: its decimals are not known" : `whole tokens of ${decimals} decimals`}.`,
    "",
    "## Moments",
    "",
    ...table(
      ["", "time (UTC)", "checkpoint", "digest"],
      [moment("first", first, head.first.timestampMs), moment("last", last, head.last.timestampMs)],
    ),
    "",
    "## Supply",
    "",
    ...table(
      ["", "first", "last"],
      [
        both("supply, as the treasury says", ({ head: { totalSupply } }) =>
          totalSupply === null ? "not seen" : amount(totalSupply),
        ),
        both("all rows of the register", ({ head: { issued } }) => amount(issued)),
        both("of it in grants", ({ rows }) => amount(sumOf(rows, "granted"))),
        both("of that locked", ({ rows }) => amount(sumOf(rows, "locked"))),
        both("rows", ({ head: { holderCount } }) => `${holderCount}`),
        both("root", ({ head: { root } }) => `\`${root}\``),
      ],
    ),
    "",
    "## Holders",
    "",
    ...table(
      ["holder", "first", "last", "change", "share, last"],
      holders(first, last).map(({ name, before, after }) => [
        name,
        amount(before),
        amount(after),
        amount(after - before),
        shareOf(after, last.head.issued),
      ]),
    ),
    "",
    "## Roles",
    "",
    ...table(
      ["owner", "role", "first", "last"],
      roles(first, last).map(({ owner, role, was, is }) => [
        `\`${owner}\``,
        `\`${role}\``,
        was ? "yes" : "no",
        is ? "yes" : "no",
      ]),
    ),
    "",
    "## What happened between",
    "",
    `${outcome.movements} movements of balances (\`${FILES.movements}\`), ${outcome.holderEvents} events of the register`,
    `(\`${FILES.holderEvents}\`) and ${outcome.roleEvents} of roles (\`${FILES.roleEvents}\`), in ${outcome.transactions} transactions of`,
    `${outcome.checkpoints} checkpoints.`,
    "",
    ...(outcome.acts === null ? [] : actsOf(outcome.acts)),
    ...(head.version === 1 ? checkedInVersion1(head, outcome) : shownBy(head, outcome)),
    "",
    head.holderNames === null
      ? "No file of holders' names belongs to this pack."
      : `The issuer's file of holders' names has the SHA-256 ${head.holderNames.sha256} (${head.holderNames.size} bytes); it is not here.`,
    "",
    `Signed by the key \`${head.publicKey}\` (${head.keyId}).`,
    "",
  ].join("\n");
};

/** Act texts contain no backtick. */
const actsOf = (acts: readonly ActLine[]): readonly string[] => [
  "## Acts of operators",
  "",
  "Commands that changed something of the token or of the whole deployment, until this was made. They stand as signed.",
  "",
  ...(acts.length === 0 ? ["None."] : acts.map(actText)),
  "",
];

const actText = ({ number, at, command, details, by, scope, entry }: ActLine): string =>
  `- ${number}, ${at}: \`${command}\` ${scope === "coin" ? "for the token" : "for the deployment"}, \`${canonicalJson(details)}\`, by \`${by.user}\` on \`${by.host}\`, role \`${by.role}\`; ${entry === null ? "no entry" : `entry ${entry}`} of the sequence`;

/** Byte-identical to released packs of version 1. */
const checkedInVersion1 = (head: PackHead, outcome: Outcome): readonly string[] => {
  const { last } = outcome;
  return [
    "## What was checked",
    "",
    `- ${outcome.signatures} signatures of validators, of epochs ${outcome.firstEpoch} to ${outcome.lastEpoch}; the least stake that signed one is`,
    `  ${outcome.lowestStake} of 10000. They begin with ${trusted(head)}`,
    `- every digest from ${outcome.facts} events, objects and removals of the token up to these signatures.`,
    `- the movements, events and the last register follow from the first one and these facts, and from nothing else.`,
    `- ${outcome.followed} times a transaction found an object of the token exactly as the one before it here left it.`,
    `- the rows of both registers come to the treasury's supply, and give the roots above.`,
    `- ${outcome.itemsProven} of the ${outcome.items} objects, memberships and roles of the first register are proven by`,
    `  ${outcome.openingCheckpoints} checkpoints up to it${head.opening === "proven" ? "." : "; the others stand as the deployment signed them."}`,
    "",
    "## What is not proven",
    "",
    "- that the committee at the beginning (and with it the ledger), the addresses of the contract and the key that",
    "  signed this are the right ones: compare them with what you know from elsewhere.",
    "- that nothing was left out which no later transaction here touched and which leaves supply as it is, and that what",
    "  the first register is made of had not been replaced by then in the same way. Reading the range",
    "  again shows the first (`audit-pack verify --source`), and a replay of your own both.",
    "- who the holders are. The ledger knows addresses and numbers.",
    ...(outcome.decimalsProven || last.head.decimals === null
      ? []
      : ["- the decimals: no metadata of the coin is among the facts."]),
    "- the digests of pipelines in the manifest: they are of all tokens, for `holderbook compare`.",
    "- tokens on EVM chains: they are not part of this.",
  ];
};

/**
 * The pack's own evidence, in the words of `audit-pack verify`, which adds whose signature it is.
 */
const shownBy = (head: PackHead, outcome: Outcome): readonly string[] => {
  const tier = (name: keyof typeof TIERS, { by, not_shown }: Omit<Tier, "holds">) => [
    `## ${name[0]?.toUpperCase()}${name.slice(1)}: ${TIERS[name]}`,
    "",
    ...by.map((what) => `- ${what}`),
    ...not_shown.map((what) => `- not shown: ${what}`),
    "",
  ];
  const authentic = {
    by: [`whether the key below signed these bytes, \`audit-pack verify --key\` finds`],
    not_shown: [
      `the chain's id, ${head.chainId}: it stands as signed`,
      "who the holders are: the ledger knows addresses and numbers",
      "tokens on EVM chains: they are not part of this",
    ],
  };
  return [
    ...tier("authentic", authentic),
    ...tier("consistent", consistency(head, outcome)),
    ...tier("complete", completeness(head, outcome.shown)),
  ].slice(0, -1);
};

const trusted = ({ trust: { epoch, checkpoint, digest } }: PackHead): string =>
  checkpoint === null
    ? `the committee of epoch ${epoch} in \`${FILES.committee}\`.`
    : `the committee of epoch ${epoch}, which checkpoint ${checkpoint} of digest \`${digest}\` names.`;

const timeText = (timeMs: string): string => new Date(Number(timeMs)).toISOString();

const sumOf = (rows: readonly CapRow[], part: "granted" | "locked"): bigint =>
  rows.reduce((sum, row) => sum + row[part], 0n);

type Held = { readonly name: string; before: bigint; after: bigint };

/** In the order of the last register, then holders that left it. */
const holders = (first: ProvenRegister, last: ProvenRegister): readonly Held[] => {
  const held = new Map<string, Held>();
  const of = ({ holderId, wallets }: CapRow): Held => {
    const name = holderId === null ? `wallet \`${wallets[0]?.address}\`` : `holder ${holderId}`;
    const known = held.get(name) ?? { name, before: 0n, after: 0n };
    held.set(name, known);
    return known;
  };
  for (const row of last.rows) of(row).after = row.balance;
  for (const row of first.rows) of(row).before = row.balance;
  return [...held.values()];
};

const roles = (first: ProvenRegister, last: ProvenRegister) => {
  const keyOf = ({ owner, role }: { owner: string; role: string }) => `${owner} ${role}`;
  const [was, is] = [first, last].map((register) => new Set(register.roles.map(keyOf)));
  const all = new Map([...first.roles, ...last.roles].map((range) => [keyOf(range), range]));
  return [...all]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { owner, role }]) => ({ owner, role, was: was?.has(key), is: is?.has(key) }));
};
