import { Command } from "commander";
import type { RawCheckpoint } from "../ledger/decode/checkpoint.ts";
import { CheckpointDecodeError } from "../ledger/decode/cursor.ts";
import { loadBls } from "../ledger/proof/bls.ts";
import type { Committee } from "../ledger/proof/committee.ts";
import { CertificateError, CommitteeError } from "../ledger/proof/proof-errors.ts";
import { committeeAfter, createProver } from "../ledger/proof/prover.ts";
import {
  committeeAt,
  committeeFrom,
  fetchCertified,
  type TrustedCheckpoint,
} from "../ledger/reading/trust.ts";
import {
  VerificationError,
  type Verified,
  verifyCheckpoints,
  wholeRange,
} from "../ledger/reading/verify-checkpoints.ts";
import { CheckpointFileError, readCheckpointFile } from "../ledger/sources/chk-file.ts";
import { CheckpointDamagedError } from "../ledger/sources/source-errors.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { retrying } from "../waiting/retrying.ts";
import {
  byOption,
  checkpointArgument,
  keyArgument,
  reasonArgument,
  retryForOption,
} from "./arguments.ts";
import { printJson, printLines } from "./output.ts";
import { openRuntime } from "./runtime.ts";
import { assertNotBeyond, openNamedSource, retried, trustArgument } from "./sources.ts";
import { UsageError } from "./usage.ts";

type Options = {
  readonly from?: bigint;
  readonly to?: bigint;
  readonly source?: string;
  readonly trust?: TrustedCheckpoint;
  readonly committeeFrom?: string;
  readonly log?: boolean;
  readonly head?: readonly string[];
  readonly key?: string;
  readonly mend?: boolean;
  readonly by?: string;
  readonly because?: string;
  readonly json?: boolean;
  readonly retryFor: number;
};

/** `holderbook verify`: checks validators' signatures. Exit code 1 when one is wrong. */
export const verifyCommand = () =>
  new Command("verify")
    .argument("[files...]", ".chk or .binpb.zst files, instead of a range of the source")
    .option(
      "--from <checkpoint>",
      "first checkpoint of a range to read from the source",
      checkpointArgument,
    )
    .option("--to <checkpoint>", "last checkpoint of the range", checkpointArgument)
    .option("--source <url>", "source of the range; default: LEDGER_SOURCE")
    .option(
      "--trust <digest>",
      "digest of a trusted checkpoint that ends an epoch: one of those checked, the last one of the epoch before --from, or, as NUMBER:DIGEST, any earlier one",
      trustArgument,
    )
    .option(
      "--committee-from <file>",
      "trusted committee: a committee file (.json), or the file of a checkpoint that ends an epoch",
    )
    .option(
      "--log",
      "check the log in the database instead, against its hash chains, its signed heads and the validators' signatures; with --source, also against every checkpoint from --from on",
    )
    .option(
      "--head <files...>",
      "with --log: heads or entries of the sequence that you kept from GET /log-heads or /sequence; the log must still have them",
    )
    .option(
      "--key <base64>",
      "with --log: the deployment's public key, from a source that you trust; default: the key in the database",
      keyArgument,
    )
    .option(
      "--mend",
      "with --log: replace damaged rows by those of the source, verified by the validators' signatures; as the tables' owner",
    )
    .addOption(byOption("with --mend: who mends the log; published"))
    .option("--because <text>", "with --mend: why; published", reasonArgument)
    .option("--json", "print one JSON document instead of text")
    .addOption(retryForOption())
    .addHelpText(
      "after",
      "\nChecks every digest up to the summary, the link to the checkpoint before, and the validators' signature\n" +
        "on the last checkpoint of every epoch and of the range, which covers all those linked before it.",
    )
    .action(async (files: readonly string[], options: Options) => {
      if (options.log) {
        const { to, trust, committeeFrom } = options;
        if ([to, trust, committeeFrom, ...files].some((given) => given !== undefined)) {
          throw new UsageError(
            "--log allows only --source, --from, --head, --key, --mend, --by, --because, --retry-for and --json",
          );
        }
        const { mend: _, ...asked } = options;
        const mend = mendingOf(options);
        return (await import("./verify-log.ts")).verifyWholeLog({
          ...asked,
          ...(mend && { mend }),
        });
      }
      if (options.mend) throw new UsageError("--mend needs --log");
      if (options.head !== undefined) throw new UsageError("--head needs --log");
      if (options.key !== undefined) throw new UsageError("--key needs --log");
      const verified = files.length > 0 ? verifyFiles(files, options) : verifyRange(options);
      try {
        const { report, began } = await verified;
        if (options.json) printJson(asJson(report, began));
        else printLines(inWords(report, began));
      } catch (error) {
        if (!options.json || !isFinding(error)) throw error;
        const checkpoint = "sequence" in error ? String(error.sequence) : null;
        const { name, message } = error;
        const found = { holds: false, checkpoint, error: name, message };
        printJson(found);
        process.exitCode = 1;
      }
    });

/** @throws UsageError */
const mendingOf = ({ mend, by, because, from }: Options) => {
  if (!mend) {
    if (by === undefined && because === undefined) return undefined;
    throw new UsageError("--by and --because are for --mend");
  }
  if (by === undefined || because === undefined) {
    throw new UsageError(
      "--mend changes the log: say --by NAME and --because TEXT, which are recorded for ever and published. Without --mend this command shows what is damaged",
    );
  }
  if (from !== undefined) throw new UsageError("--mend checks the whole log: leave out --from");
  return { by, because };
};

/** Errors about checkpoints; an unanswering or refusing source proves nothing. */
const isFinding = (error: unknown): error is Error =>
  FINDINGS.some((finding) => error instanceof finding);

const FINDINGS = [
  VerificationError,
  CertificateError,
  CommitteeError,
  CheckpointDecodeError,
  CheckpointDamagedError,
  CheckpointFileError,
];

type Outcome = { readonly report: Verified; readonly began: string };

const verifyFiles = async (
  files: readonly string[],
  { from, to, source, trust, committeeFrom: path }: Options,
): Promise<Outcome> => {
  if (from !== undefined || to !== undefined || source !== undefined) {
    throw new UsageError("give either files, or --from and --to");
  }
  if (path === undefined && trust === undefined) {
    throw new UsageError("give the validators to trust: --committee-from FILE or --trust DIGEST");
  }
  const raws: RawCheckpoint[] = [];
  for (const file of files) raws.push(await readCheckpointFile(file));
  const inOrder = raws.toSorted((a, b) => Number(a.sequence - b.sequence));
  const start = path === undefined ? null : await committeeFrom(path, digestFor(path, trust));
  const report = await verifyFrom(start, inOrder, trust);
  return { report, began: beginning(start, path, trust) };
};

const verifyRange = async (options: Options): Promise<Outcome> => {
  const { from: first, to: last, source: setting, retryFor } = options;
  if (first === undefined || last === undefined || last < first) {
    throw new UsageError("give files, or a range: --from N --to M");
  }
  const { config, logger, signal } = await openRuntime();
  const verifying = { ...config, verify: { ...config.verify, level: "signatures" as const } };
  const { source: asked, demo } = await openNamedSource(verifying, setting, logger);
  const source = retried(asked, logger, { forMs: retryFor });
  let found: string | undefined;
  /** Confirms a finding by a second reading, from the next source where several are listed. */
  const remedy = (error: unknown): Remedy => {
    if (!isFinding(error) || error.message === found || retryFor === 0) return "stop";
    found = error.message;
    return "retry";
  };
  const attempt = async (): Promise<Outcome> => {
    const inUse = asked.listed?.inUse ?? 0;
    try {
      return await verifyOnce({ first, last }, options, { source, demo }, signal);
    } catch (error) {
      if (isFinding(error)) asked.failed?.(error, inUse);
      throw error;
    }
  };
  try {
    const again = { backoff: READ_AGAIN, forMs: retryFor, remedy };
    const outcome = await retrying(attempt, again, signal);
    signal.throwIfAborted();
    if (outcome === undefined) throw signal.reason;
    return outcome;
  } finally {
    await source.close();
  }
};

const READ_AGAIN = { firstMs: 1_000, maxMs: 60_000 };

const verifyOnce = async (
  range: { readonly first: bigint; readonly last: bigint },
  { trust, committeeFrom: path }: Options,
  { source, demo }: Pick<Awaited<ReturnType<typeof openNamedSource>>, "source" | "demo">,
  signal: AbortSignal,
): Promise<Outcome> => {
  // Several listed sources have to be of one chain.
  await source.chainId(signal);
  await assertNotBeyond(source, range.last, signal);
  const own = trust === undefined ? demo?.source.committee : undefined;
  const given = path === undefined ? own : await committeeFrom(path, digestFor(path, trust));
  const known = given === undefined ? trust && { checkpoint: trust } : { committee: given };
  if (known === undefined) {
    throw new UsageError("give the validators to trust: --committee-from FILE or --trust DIGEST");
  }
  const bls = await loadBls();
  const { header } = await fetchCertified(source, range.first, signal);
  const start = await committeeAt({ source, bls }, known, header, signal).catch((error) => {
    // A checkpoint trusted by its digest may also be within the range.
    if (trust?.sequence === null && error instanceof CommitteeError) return error;
    throw error;
  });
  const nowhere = start instanceof CommitteeError;
  const checkpoints = wholeRange(source, range, signal);
  const committee = nowhere ? null : start.committee;
  const report = await verifyFrom(committee, checkpoints, trust).catch((error) => {
    throw nowhere && error instanceof CommitteeError ? start : error;
  });
  const where = path ?? (given === undefined ? undefined : "the demo ledger");
  return { report, began: beginning(given ?? null, where, trust) };
};

/**
 * Pins the checkpoint file that the committee is taken from; a committee file has another digest.
 */
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

const inWords = (
  { checkpoints, digests, links, stretches }: Verified,
  began: string,
): readonly string[] => [
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
  `not covered: ${NOT_COVERED}`,
];

/** Not part of a transaction's digest; nodes keep others than the contents name. */
const NOT_COVERED =
  "users' signatures beside the transactions, and message fields that no digest covers. The validators checked the signatures before they signed; these bytes are not used";

const asJson = (verified: Verified, trusted: string) => ({
  holds: true,
  ...verified,
  trusted,
  notCovered: NOT_COVERED,
});
