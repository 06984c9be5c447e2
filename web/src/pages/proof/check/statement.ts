/** Checks a holder's statement with the code that `holderbook/client` has for everybody. */
import { fromSeconds, momentText } from "../../../shown/moment.ts";
import { shortened } from "../../../shown/shorten.ts";
import { loadStatements, type Statement } from "./client.ts";
import { memberTwice } from "./members.ts";
import { type Report, type Said, type Step, skipped, UncheckableError } from "./report.ts";

/** Steps in the order in which they are shown; what the checker says is told apart by its words. */
const STEPS: readonly { readonly title: string; readonly about: RegExp; readonly found: string }[] =
  [
    {
      title: "It has the form of a statement",
      about: /is missing or malformed|is no member|is no object|twice/,
      found: "Every member is there, each in its only form, and none twice.",
    },
    {
      title: "The row adds up",
      about:
        /in ascending order|row without a holder|row holds nothing|tokens and granted|unlocked and locked|wallets' balances|the share is not|treasury's supply/,
      found: "Wallets, tokens, grants and share come to the balance.",
    },
    {
      title: "The row is part of the table",
      about: /sums of the path|row and path/,
      found: "Row and path lead to the root and the total that it names.",
    },
    {
      title: "The deployment signed the table's root",
      about: /signature of the root|time in seconds/,
      found: "The signature fits the key that it names.",
    },
    {
      title: "The deployment signed the statement",
      about: /signature of the statement/,
      found: "The signature fits the key that it names: nothing was changed since.",
    },
  ];

/** What the check leaves open; `null` for a file that is no whole statement. */
const openOf = (statement: Statement | null): readonly string[] => [
  "Whose key it is. The service that shows this page cannot vouch for its own key: compare it with what the issuer publishes.",
  "That the total is the supply on the ledger. The treasury object shows that to anybody.",
  statement?.version === 2
    ? `When it was signed: ${statement.entry.at} is what the signer says. Whoever keeps the deployment's sequence sees whether its entry ${statement.entry.number} is this one.`
    : "Unlocked and locked amounts, single wallets' balances, groups, freezes, decimals and the time: for these the signature alone stands.",
  "Who the holder is. No person is on the ledger.",
];

/** @throws UncheckableError when the text is not JSON */
export const checkStatement = async (text: string): Promise<Report> => {
  const json = parsed(text);
  const twice = memberTwice(text);
  const { verifyStatement, StatementError } = await loadStatements();
  try {
    if (twice !== null) throw new StatementError([`the member ${twice} is there twice`]);
    return reportOf(verifyStatement(json), []);
  } catch (error) {
    if (!(error instanceof StatementError)) throw error;
    return reportOf(json, error.failures);
  }
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new UncheckableError("The file is not JSON.");
  }
};

const reportOf = (json: unknown, failures: readonly string[]): Report => {
  const steps = stepsOf(failures);
  const isWhole = steps[0]?.result === "holds";
  const statement = isWhole ? asStatement(json) : null;
  return {
    kind: "statement",
    verdict: "This statement holds",
    title:
      statement === null
        ? "A statement that is not whole"
        : `${who(statement)} in ${statement.coinType.split("::").at(-1)} at checkpoint ${statement.checkpoint}`,
    steps,
    says: statement === null ? [] : saysOf(statement),
    publicKey: statement?.publicKey ?? null,
    root: statement,
    open: openOf(statement),
  };
};

/** Each failure under the step that its words belong to; words that this page does not know get a step of their own. */
export const stepsOf = (failures: readonly string[]): readonly Step[] => {
  const left = new Set(failures);
  const steps = STEPS.map(({ title, about, found }): Step => {
    const own = failures.filter((failure) => about.test(failure) && left.delete(failure));
    return own.length === 0
      ? { title, result: "holds", details: [found] }
      : { title, result: "fails", details: own };
  });
  const [form, ...rest] = steps;
  // The checker stops at a form that it does not know.
  const known =
    form?.result === "fails" ? [form, ...rest.map(({ title }) => skipped(title))] : steps;
  return left.size === 0
    ? known
    : [...known, { title: "Something else", result: "fails", details: [...left] }];
};

/** Called only for what the checker found to have every member. */
const asStatement = (json: unknown): Statement => json as Statement;

const who = ({ row }: Statement): string =>
  row.holderId === null
    ? `Wallet ${shortened(row.wallets[0]?.address ?? "")}`
    : `Holder ${row.holderId}`;

const saysOf = ({
  row,
  coinType,
  decimals,
  checkpoint,
  checkpointTimestamp,
  total,
  root,
}: Statement): readonly Said[] => [
  { name: "Token", id: coinType },
  { name: "Checkpoint", text: `${checkpoint}, ${momentText(fromSeconds(checkpointTimestamp))}` },
  { name: "Holder", text: row.holderId ?? "none: a wallet alone" },
  { name: "Balance", units: BigInt(row.balance), decimals },
  { name: "Tokens", units: BigInt(row.tokens), decimals },
  { name: "Granted", units: BigInt(row.granted), decimals },
  { name: "All holders", units: BigInt(total), decimals },
  ...row.wallets.map(({ address }): Said => ({ name: "Wallet", id: address })),
  { name: "Root", id: root },
];
