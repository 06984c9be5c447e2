/** `holderbook audit-pack papers`: an auditor's working papers, from a pack alone. */
import { basename, resolve, sep } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { canonicalAddress, MoveTypeError } from "../values/move-type.ts";
import { textArgument, wholeNumberArgument } from "./arguments.ts";
import {
  type CheckOptions,
  givenToCheck,
  SOURCE_LACKS,
  withCheckOptions,
} from "./audit-pack-verify.ts";
import { endCheck, printLines, printMessages } from "./output.ts";
import { UsageError } from "./usage.ts";

type PapersOptions = CheckOptions & {
  readonly out: string;
  readonly seed?: string;
  readonly sample: number;
  readonly confirm?: readonly string[];
};

export const SAMPLE = 25;

const MOST_DRAWN = 500;

/** Reads the folder and the given files only: no settings, no database. */
export const papersCommand = () =>
  withCheckOptions(new Command("papers"))
    .description("write an auditor's working papers of a pack, after checking it as verify does")
    .requiredOption("--out <folder>", "folder to write; must be absent or empty")
    .option(
      "--seed <text>",
      "seed of the sample; use one that the pack's maker could not know. Default: the SHA-256 of manifest.json",
      textArgument(/^[^\p{Cc}\p{Cs}]{1,200}$/u, "one line of 1 to 200 characters"),
    )
    .option(
      "--sample <n>",
      "number of movements to draw",
      wholeNumberArgument(0, MOST_DRAWN),
      SAMPLE,
    )
    .option(
      "--confirm <holders...>",
      "holders to write letters of confirmation to: ids, addresses of wallets, or all",
      confirmArgument,
    )
    .addHelpText(
      "after",
      "\nExit codes: 0 the papers are written, 1 something in the pack is false and none are written, 2 wrong usage, 3 they are written, but --source lacks data that the check needs.",
    )
    .action(async (folder: string, options: PapersOptions) => {
      const { out, seed, sample, confirm = [] } = options;
      assertOutside(folder, out);
      const given = await givenToCheck(folder, options);
      const { writePapers } = await import("../evidence/papers/write.ts");
      const papers = { seed, sample, confirm, given: givenIn(options) };
      const { isUnread } = await writePapers(folder, out, papers, given);
      printLines([`${out}: working papers of ${folder}`]);
      if (isUnread) printMessages(SOURCE_LACKS);
      endCheck({ isFalse: false, isUnshown: isUnread });
    });

const confirmArgument = (text: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  confirmedIn(text),
];

const confirmedIn = (text: string): string => {
  if (text === "all") return text;
  if (/^\d{1,20}$/.test(text)) return `${BigInt(text)}`;
  try {
    if (/^0x/i.test(text)) return canonicalAddress(text);
  } catch (error) {
    if (!(error instanceof MoveTypeError)) throw error;
  }
  throw new InvalidArgumentError("It must be a holder's number, a wallet's address, or all.");
};

/** An additional file would make the pack false. */
export const assertOutside = (pack: string, papers: string): void => {
  if (`${resolve(papers)}${sep}`.startsWith(`${resolve(pack)}${sep}`)) {
    throw new UsageError(`${papers} is inside the pack, which must not hold other files`);
  }
};

/** Options of the check, for the cover; of files only their names. */
const givenIn = ({
  key,
  committeeFrom,
  trust,
  source,
  since,
  entry,
}: CheckOptions): readonly (readonly [string, string])[] => {
  const trusted =
    trust === undefined
      ? undefined
      : `${trust.sequence === null ? "" : `${trust.sequence}:`}${trust.digest}`;
  const all = [
    ["--key", key],
    ["--committee-from", committeeFrom && basename(committeeFrom)],
    ["--trust", trusted],
    // A URL may have a password in it.
    ["--source", source && "named in the tier complete"],
    ["--since", since?.toString()],
    ["--entry", entry?.map((file) => basename(file)).join(", ")],
  ] as const;
  return all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
};
