/** `holderbook audit-pack verify`: what a pack proves, in tiers. */
import { stat } from "node:fs/promises";
import { Command } from "commander";
import { amountText } from "../../client/in-tokens.ts";
import type { TierName } from "../../client/pack-error.ts";
import type { PackFiles } from "../../client/pack-files.ts";
import type { PackManifest } from "../../client/pack-forms.ts";
import { rangeText, unshown } from "../../client/pack-verdict.ts";
import { failedVerdict, type Verdict, verdictLines } from "../../client/verify-audit-pack.ts";
import type { Outcome } from "../evidence/pack/check.ts";
import { AuditPackError } from "../evidence/pack/form.ts";
import { type Reread, reread, type Unread } from "../evidence/pack/reread.ts";
import { type CheckedPack, type Rereading, verifyPack } from "../evidence/pack/verify.ts";
import type { RawCheckpoint } from "../ledger/decode/checkpoint.ts";
import { decodeCheckpoint } from "../ledger/decode/decode.ts";
import { retryingSource } from "../ledger/reading/retrying-source.ts";
import { isOfSource } from "../ledger/reading/source-trouble.ts";
import {
  committeeFrom,
  fetchCertified,
  isGone,
  type TrustedCheckpoint,
} from "../ledger/reading/trust.ts";
import type { CheckpointSource } from "../ledger/sources/source.ts";
import { shownForeign } from "../logging/foreign-text.ts";
import { splitType } from "../values/move-type.ts";
import { checkpointArgument, keyArgument, namesArgument, retryForOption } from "./arguments.ts";
import { endCheck, printJson, printLines, printMessages } from "./output.ts";
import { assertReaches, trustArgument } from "./sources.ts";
import { UsageError } from "./usage.ts";

export type CheckOptions = {
  readonly committeeFrom?: string;
  readonly trust?: TrustedCheckpoint;
  readonly key?: string;
  readonly source?: string;
  readonly since?: bigint;
  readonly entry?: readonly string[];
  readonly retryFor: number;
};

type VerifyOptions = CheckOptions & {
  readonly require?: readonly TierName[];
  readonly json?: boolean;
};

const TIER_NAMES = ["authentic", "consistent", "complete"] as const satisfies readonly TierName[];

/** Options of every command that checks a pack. */
export const withCheckOptions = (command: Command): Command =>
  command
    .argument("<folder>", "folder of the pack")
    .option(
      "--committee-from <file>",
      "committee that the pack must begin with: a committee file (.json), or the file of a checkpoint that ends an epoch",
    )
    .option(
      "--trust <checkpoint>",
      "checkpoint that must name that committee: its digest, or NUMBER:DIGEST",
      trustArgument,
    )
    .option(
      "--key <base64>",
      "the deployment's public key, from a source that you trust",
      keyArgument,
    )
    .option(
      "--source <url>",
      "read the checkpoints again from any source, from the publication of the token's package on, to show that nothing was left out",
    )
    .option(
      "--since <checkpoint>",
      "with --source: first checkpoint to read; default: the publication of the package, or the ledger's first checkpoint, or the first one after the first register if the source no longer has that",
      checkpointArgument,
    )
    .option(
      "--entry <files...>",
      "entries of the deployment's sequence that you kept from GET /sequence, to show that nothing signed then was left out",
    )
    .addOption(retryForOption());

/** Reads the folder and the given files only: no settings, no database. */
export const verifyCommand = () =>
  withCheckOptions(new Command("verify"))
    .description("check a pack; needs no database, no settings and no network")
    .option(
      "--require <tiers>",
      `tiers that must be shown, of ${TIER_NAMES.join(", ")}; default: consistent, with --key also authentic`,
      namesArgument(TIER_NAMES),
    )
    .option("--json", "print one JSON document instead of text")
    .addHelpText(
      "after",
      "\nExit codes: 0 everything required holds, 1 something is false, 2 wrong usage, 3 nothing is false, but something required cannot be shown, or --source lacks data that the check needs.",
    )
    .action(async (folder: string, options: VerifyOptions) => {
      const { checked, verdict, failures } = await verified(folder, options);
      const {
        key,
        require: required = key === undefined ? ["consistent"] : ["authentic", "consistent"],
      } = options;
      const left = unshown(
        verdict,
        TIER_NAMES.filter((name) => required.includes(name)),
      );
      if (options.json) printJson(asJson(checked?.manifest ?? null, verdict, failures));
      else if (checked === null) printLines(verdictLines(verdict));
      else {
        const { manifest, outcome } = checked;
        printLines([rangeText(manifest), registersText(outcome), ...verdictLines(verdict)]);
      }
      const isFalse = failures.length > 0;
      const isUnread = checked?.isUnread === true;
      if (!isFalse && left.length > 0) printMessages(`required, and not shown: ${left.join(", ")}`);
      else if (!isFalse && isUnread) printMessages(SOURCE_LACKS);
      endCheck({ isFalse, isUnshown: left.length > 0 || isUnread });
    });

/** For people, when `--source` was incomplete. */
export const SOURCE_LACKS = "the source lacks data that the check needs";

type Verified = {
  readonly checked: CheckedPack | null;
  readonly verdict: Verdict;
  readonly failures: AuditPackError["failures"];
};

/** A refused pack throws for people; programs always get their document. */
const verified = async (folder: string, options: VerifyOptions): Promise<Verified> => {
  const given = await givenToCheck(folder, options);
  try {
    const checked = await verifyPack(folder, given.known, given);
    return { checked, verdict: checked.verdict, failures: [] };
  } catch (error) {
    if (!options.json || !(error instanceof AuditPackError)) throw error;
    return { checked: null, verdict: failedVerdict(error), failures: error.failures };
  }
};

/** Input of a pack's check, by the options. */
export const givenToCheck = async (folder: string, options: CheckOptions) => {
  const { committeeFrom: path, trust, key, source, since, entry: entries, retryFor } = options;
  if (since !== undefined && source === undefined) {
    throw new UsageError("--since needs --source");
  }
  if (!(await stat(folder).catch(() => null))?.isDirectory()) {
    throw new UsageError(`there is no folder ${folder}`);
  }
  const committee = path === undefined ? undefined : await givenCommittee(path);
  const again: Rereading | undefined =
    source === undefined
      ? undefined
      : (pack, manifest) => readFrom(source, pack, manifest, { since, forMs: retryFor });
  return { known: { committee, trusted: trust, publicKey: key }, entries, again };
};

/** A faulty file of the auditor is no finding about the pack. */
const givenCommittee = (path: string) =>
  committeeFrom(path).catch((error: Error) => {
    throw new UsageError(`${path}: ${error.message}`);
  });

const asJson = (
  manifest: PackManifest | null,
  verdict: Verdict,
  failures: AuditPackError["failures"],
) => {
  const { coinType, first, last, publicKey } = manifest ?? {};
  const mark = (of: PackManifest["first"] | undefined) =>
    of && { checkpoint: of.checkpoint, digest: of.digest };
  return {
    ...(manifest !== null && { coinType, first: mark(first), last: mark(last), publicKey }),
    verdict,
    failures,
  };
};

const readFrom = async (
  setting: string,
  pack: PackFiles,
  manifest: PackManifest,
  { since, forMs }: { readonly since: bigint | undefined; readonly forMs: number },
): Promise<Reread | Unread> => {
  const { openSource } = await import("../ledger/sources/open-source.ts");
  const { signal } = new AbortController();
  const onTrouble = ({ message }: Error, pauseMs: number) =>
    printMessages(`${shownForeign(message)}; asking again in ${pauseMs} ms`);
  const opened = openSource(setting);
  const source = retryingSource(opened, { forMs, check: whole, onTrouble });
  try {
    await assertReaches(source, BigInt(manifest.last.checkpoint), signal);
    const from = since ?? (await publishedBy(opened, manifest.coinType, signal));
    return await reread(pack, manifest, source, signal, from);
  } catch (error) {
    if (!isOfSource(error)) throw error;
    return { source: source.description, why: shownForeign(error.message) };
  } finally {
    await source.close();
  }
};

/**
 * Checkpoint by which the coin's package existed; undefined if the source does not reach back
 * there.
 */
const publishedBy = async (
  source: CheckpointSource,
  coinType: string,
  signal: AbortSignal,
): Promise<bigint | undefined> => {
  const published = await source.publishedAt?.(splitType(coinType).address, signal);
  const first = published ?? 0n;
  try {
    await fetchCertified(source, first, signal);
    return first;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
};

/** Refuses bytes that do not match their digests. */
export const whole = (raw: RawCheckpoint): void => void decodeCheckpoint(raw, () => false);

const rowsIn = ({ head: { holderCount, issued, decimals } }: Outcome["first"]): string =>
  `${holderCount} rows of ${amountText(issued, decimals)}`;

const registersText = ({ first, last }: Outcome): string =>
  `the first register has ${rowsIn(first)}, the last ${rowsIn(last)}, root ${last.head.root}`;

export const inWords = (outcome: Outcome): readonly string[] => [
  `${outcome.signatures} signatures of validators, ${outcome.facts} facts in ${outcome.transactions} transactions, ${outcome.movements} movements`,
  registersText(outcome),
  `${outcome.itemsProven} of the ${outcome.items} objects, memberships and roles of the first register are proven by checkpoints`,
];
