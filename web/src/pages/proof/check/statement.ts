/** Checks a holder's statement with the verifier of `holderbook/client`. */

import { fromSeconds, momentText } from "../../../shown/moment.ts";
import { shortened } from "../../../shown/shorten.ts";
import { loadStatements, type Statement } from "./client.ts";
import { type Entry, type Report, type Step, skipped, UncheckableError } from "./report.ts";

/** Steps in order; failures of the verifier belong to the step whose pattern they match. */
const STEPS: readonly { readonly title: string; readonly about: RegExp; readonly found: string }[] =
  [
    {
      title: "Well-formed statement",
      about: /is missing|must be|unknown member|more than|another order|twice/,
      found: "Every member is present once, in its canonical form.",
    },
    {
      title: "The row adds up",
      about:
        /in ascending order|row without a holder|row holds nothing|tokens and granted|unlocked and locked|wallets' balances|the share is not|treasury's supply/,
      found: "Wallets, tokens, grants and share add up to the balance.",
    },
    {
      title: "The row is part of the cap table",
      about: /sums of the path|row and path/,
      found: "Row and path lead to the root and the total in the statement.",
    },
    {
      title: "The deployment signed the root",
      about: /signature of the root|time in seconds/,
      found: "The signature matches the key in the statement.",
    },
    {
      title: "The deployment signed the statement",
      about: /signature of the statement/,
      found: "The signature matches the key in the statement: nothing was changed since.",
    },
  ];

/** What the check cannot prove; `null` for an incomplete statement. */
const openOf = (statement: Statement | null): readonly string[] => [
  "Whose key it is. This service cannot vouch for its own key: compare it with what the issuer publishes.",
  "Whether the total is the supply on the ledger. Anyone can read that from the treasury object.",
  statement?.version === 2
    ? `When it was signed: ${statement.entry.at} is the signer's claim. A copy of the deployment's sequence shows whether its entry ${statement.entry.number} is this one.`
    : "Unlocked and locked amounts, balances of single wallets, groups, freezes, decimals and the time: only the signature vouches for these.",
  "Who the holder is. The ledger names no persons.",
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
    verdict: "This statement is valid",
    title:
      statement === null
        ? "An incomplete statement"
        : `${who(statement)} in ${statement.coinType.split("::").at(-1)} at checkpoint ${statement.checkpoint}`,
    steps,
    contents: statement === null ? [] : contentsOf(statement),
    publicKey: statement?.publicKey ?? null,
    root: statement,
    open: openOf(statement),
  };
};

/** Failures by step; unknown ones get a step of their own. */
export const stepsOf = (failures: readonly string[]): readonly Step[] => {
  const left = new Set(failures);
  const steps = STEPS.map(({ title, about, found }): Step => {
    const own = failures.filter((failure) => about.test(failure) && left.delete(failure));
    return own.length === 0
      ? { title, result: "holds", details: [found] }
      : { title, result: "fails", details: own };
  });
  const [form, ...rest] = steps;
  // The verifier stops at a malformed statement.
  const known =
    form?.result === "fails" ? [form, ...rest.map(({ title }) => skipped(title))] : steps;
  return left.size === 0
    ? known
    : [...known, { title: "Other checks", result: "fails", details: [...left] }];
};

/** Only for a statement that the verifier found well-formed. */
const asStatement = (json: unknown): Statement => json as Statement;

const who = ({ row }: Statement): string =>
  row.holderId === null
    ? `Wallet ${shortened(row.wallets[0]?.address ?? "")}`
    : `Holder ${row.holderId}`;

const contentsOf = ({
  row,
  coinType,
  decimals,
  checkpoint,
  checkpointTimestamp,
  total,
  root,
}: Statement): readonly Entry[] => [
  { name: "Token", id: coinType },
  { name: "Checkpoint", text: `${checkpoint}, ${momentText(fromSeconds(checkpointTimestamp))}` },
  { name: "Holder", text: row.holderId ?? "none: a single wallet" },
  { name: "Balance", units: BigInt(row.balance), decimals },
  { name: "Tokens", units: BigInt(row.tokens), decimals },
  { name: "Granted", units: BigInt(row.granted), decimals },
  { name: "All holders", units: BigInt(total), decimals },
  ...row.wallets.map(({ address }): Entry => ({ name: "Wallet", id: address })),
  { name: "Root", id: root },
];

/** Strings and punctuation of JSON. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g;

/**
 * The first duplicate member of an object in a JSON text, or null. Parsers silently keep one of the two: another reader
 * might see the other.
 * @param text valid JSON
 */
export const memberTwice = (text: string): string | null => {
  const open: (Set<string> | null)[] = [];
  let before = "";
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (token === "}" || token === "]") open.pop();
    else if (token === ":") {
      const names = open.at(-1);
      const name = String(JSON.parse(before));
      if (names?.has(name)) return name;
      names?.add(name);
    }
    before = token;
  }
  return null;
};
