import { Command, InvalidArgumentError } from "commander";
import type { RawCheckpoint } from "../ledger/decode/checkpoint.ts";
import { loadBls } from "../ledger/proof/bls.ts";
import type { Committee } from "../ledger/proof/committee.ts";
import { CommitteeError } from "../ledger/proof/proof-errors.ts";
import { committeeAfter, createProver } from "../ledger/proof/prover.ts";
import {
  committeeAt,
  committeeFrom,
  fetchCertified,
  readTrusted,
  type TrustedCheckpoint,
} from "../ledger/reading/trust.ts";
import {
  type Verified,
  verifyCheckpoints,
  wholeRange,
} from "../ledger/reading/verify-checkpoints.ts";
import { readCheckpointFile } from "../ledger/sources/chk-file.ts";
import { checkpointArgument } from "./arguments.ts";
import { openNamedSource } from "./named-source.ts";
import { openRuntime } from "./runtime.ts";
import { UsageError } from "./usage.ts";

type Options = {
  readonly from?: bigint;
  readonly to?: bigint;
  readonly source?: string;
  readonly trust?: TrustedCheckpoint;
  readonly committeeFrom?: string;
  readonly log?: boolean;
  readonly json?: boolean;
};

/** `holderbook verify`: whether checkpoints are what the validators signed. Exit code 1 when they are not. */
export const verifyCommand = () =>
  new Command("verify")
    .argument("[files...]", ".chk or .binpb.zst files, instead of a range of the source")
    .option("--from <checkpoint>", "the first one to read from the source", checkpointArgument)
    .option("--to <checkpoint>", "the last one", checkpointArgument)
    .option("--source <url>", "where to read it; LEDGER_SOURCE unless given")
    .option(
      "--trust <digest>",
      "digest of a checkpoint that ends an epoch: one of them, the last one of the epoch before --from, or, as NUMBER:DIGEST, any before",
      trustArgument,
    )
    .option(
      "--committee-from <file>",
      "a committee file (.json), or a checkpoint file that ends an epoch",
    )
    .option(
      "--log",
      "check the log in the database instead: against its hash chain and the heads signed of it; the source then names the facts that do not fit",
    )
    .option("--json", "one JSON document instead of text")
    .addHelpText(
      "after",
      "\nEvery digest is recomputed up to the summary, the link to the checkpoint before, and the validators'\n" +
        "signature on the last checkpoint of every epoch and stretch, which covers those linked before it.",
    )
    .action(async (files: readonly string[], options: Options) => {
      if (options.log) {
        const { from, to, trust, committeeFrom } = options;
        if ([from, to, trust, committeeFrom, ...files].some((given) => given !== undefined)) {
          throw new UsageError("verify --log takes --source and --json alone");
        }
        return (await import("./verify-log.ts")).verifyWholeLog(options);
      }
      const verified = files.length > 0 ? verifyFiles(files, options) : verifyRange(options);
      try {
        const { report, began } = await verified;
        const text = options.json ? JSON.stringify(asJson(report, began)) : inWords(report, began);
        process.stdout.write(`${text}\n`);
      } catch (error) {
        if (!options.json || !isFinding(error)) throw error;
        const checkpoint = "sequence" in error ? String(error.sequence) : null;
        const { name, message } = error;
        const found = { holds: false, checkpoint, error: name, message };
        process.stdout.write(`${JSON.stringify(found)}\n`);
        process.exitCode = 1;
      }
    });

const trustArgument = (text: string): TrustedCheckpoint => {
  const trusted = readTrusted(text);
  if (trusted !== null) return trusted;
  throw new InvalidArgumentError("It must be a digest in base58, or NUMBER:DIGEST.");
};

/** What may pass, as a source that does not answer, says nothing about checkpoints. */
const isFinding = (error: unknown): error is Error =>
  error instanceof Error && "remedy" in error && error.remedy === "stop";

/** What was verified, and what it rests on. */
type Outcome = { readonly report: Verified; readonly began: string };

const verifyFiles = async (
  files: readonly string[],
  { from, to, source, trust, committeeFrom: path }: Options,
): Promise<Outcome> => {
  if (from !== undefined || to !== undefined || source !== undefined) {
    throw new UsageError("verify takes either files or --from and --to");
  }
  if (path === undefined && trust === undefined) {
    throw new UsageError("say which validators to trust: --committee-from FILE or --trust DIGEST");
  }
  const raws: RawCheckpoint[] = [];
  for (const file of files) raws.push(await readCheckpointFile(file));
  const inOrder = raws.toSorted((a, b) => Number(a.sequence - b.sequence));
  const start = path === undefined ? null : await committeeFrom(path, digestFor(path, trust));
  const report = await verifyFrom(start, inOrder, trust);
  return { report, began: beginning(start, path, trust) };
};

const verifyRange = async ({
  from,
  to,
  source: setting,
  trust,
  committeeFrom: path,
}: Options): Promise<Outcome> => {
  if (from === undefined || to === undefined || to < from) {
    throw new UsageError("verify takes files, or a range: --from N --to M");
  }
  const { config, logger, signal } = await openRuntime();
  const verifying = { ...config, verify: { ...config.verify, level: "signatures" as const } };
  const { source, demo } = await openNamedSource(verifying, setting, logger);
  try {
    const newest = await source.latest(signal);
    if (newest !== null && to > newest) {
      throw new UsageError(
        `${source.description} has no checkpoint ${to}; its newest is ${newest}`,
      );
    }
    const own = trust === undefined ? demo?.source.committee : undefined;
    const given = path === undefined ? own : await committeeFrom(path, digestFor(path, trust));
    const known = given === undefined ? trust && { checkpoint: trust } : { committee: given };
    if (known === undefined) {
      throw new UsageError(
        "say which validators to trust: --committee-from FILE or --trust DIGEST",
      );
    }
    const bls = await loadBls();
    const { header } = await fetchCertified(source, from, signal);
    const start = await committeeAt({ source, bls }, known, header, signal).catch((error) => {
      // What is trusted by its digest alone may also come by itself, in the range.
      if (trust?.sequence === null && error instanceof CommitteeError) return error;
      throw error;
    });
    const nowhere = start instanceof CommitteeError;
    const checkpoints = wholeRange(source, { first: from, last: to }, signal);
    const committee = nowhere ? null : start.committee;
    const report = await verifyFrom(committee, checkpoints, trust).catch((error) => {
      throw nowhere && error instanceof CommitteeError ? start : error;
    });
    signal.throwIfAborted();
    const where = path ?? (given === undefined ? undefined : "the demo ledger");
    return { report, began: beginning(given ?? null, where, trust) };
  } finally {
    await source.close();
  }
};

/** A digest pins the checkpoint file that the committee is taken from; for a committee file it is another. */
const digestFor = (path: string, trust: TrustedCheckpoint | undefined) =>
  path.endsWith(".json") ? undefined : trust?.digest;

const verifyFrom = async (
  start: Committee | null,
  checkpoints: AsyncIterable<RawCheckpoint> | readonly RawCheckpoint[],
  trust: TrustedCheckpoint | undefined,
): Promise<Verified> => {
  const bls = await loadBls();
  return verifyCheckpoints(checkpoints, {
    prover: start === null ? null : createProver(bls, start),
    trustedDigest: trust?.digest ?? null,
    proverAfter: (trusted) => {
      const next = committeeAfter(trusted);
      return next === null ? null : createProver(bls, next);
    },
  });
};

const beginning = (
  committee: Committee | null,
  where: string | undefined,
  trust: TrustedCheckpoint | undefined,
): string => {
  const pinned = where && digestFor(where, trust);
  return committee === null
    ? `trusted: the checkpoint of digest ${trust?.digest}`
    : `trusted: the committee of epoch ${committee.epoch}, as ${where} says${
        pinned === undefined ? "" : ` (digest ${pinned})`
      }`;
};

const inWords = ({ checkpoints, digests, links, stretches }: Verified, began: string): string =>
  [
    `${checkpoints} checkpoints hold: ${digests} digests, ${links} links to the checkpoint before, ${
      stretches.filter(({ signed }) => signed !== null).length
    } signatures`,
    ...stretches.map(({ first, last, epoch, signed }) => {
      const range = first === last ? `checkpoint ${first}` : `checkpoints ${first} to ${last}`;
      return signed === null
        ? `  ${range}, epoch ${epoch}: the trusted digest`
        : `  ${range}, epoch ${epoch}: signed by ${signed.signers} of ${signed.members} validators, stake ${signed.stake} of 10000`;
    }),
    began,
  ].join("\n");

const asJson = ({ stretches, ...counts }: Verified, trusted: string) => ({
  holds: true,
  ...counts,
  trusted,
  stretches: stretches.map(({ first, last, epoch, signed }) => ({
    first: String(first),
    last: String(last),
    epoch: String(epoch),
    signed: signed && { ...signed, stake: String(signed.stake) },
  })),
});
