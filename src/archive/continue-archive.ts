/** Where an export begins: a new archive, or the end of one that has to be of this log. */
import type { logRange } from "../audit/verify/blocks-and-packages.ts";
import type { Sql } from "../database/connect.ts";
import { chainEnd } from "../log/chain.ts";
import { packagesInLog } from "../log/packages.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { ARCHIVE_START } from "./chain-places.ts";
import { type ArchiveHead, type Manifest, nextOf } from "./manifest.ts";

/** The folder holds an archive of another log. Nothing was written; name another folder. */
export class ArchiveOfOtherLogError extends Error {
  override readonly name = "ArchiveOfOtherLogError";
  readonly remedy: Remedy = "stop";

  constructor(folder: string, what: string) {
    super(`${folder}: ${what}; export to another folder`);
  }
}

/** The requested checkpoints are not in the log, or do not continue the archive. */
export class ArchiveRangeError extends Error {
  override readonly name = "ArchiveRangeError";
  readonly remedy: Remedy = "stop";
  readonly exitCode = 2;
}

type Range = Awaited<ReturnType<typeof logRange>>;

export const hashBefore = async (sql: Sql, checkpoint: bigint): Promise<string> =>
  hexOf(await chainEnd(sql, checkpoint - 1n));

/** @throws ArchiveRangeError (stop) */
export const beginning = async (
  sql: Sql,
  { first, next, chainId }: Range,
  from = first,
): Promise<Omit<Manifest, "format">> => {
  if (from < first || from >= next)
    throw new ArchiveRangeError(outside("--from", from, { first, next }));
  const packages = await packagesInLog(sql);
  return {
    chainId,
    packages: packages
      .filter(({ checkpoint }) => checkpoint === null || checkpoint < from)
      .map(({ address }) => address),
    first: from,
    before: { facts: await hashBefore(sql, from), blocks: ARCHIVE_START, inputs: ARCHIVE_START },
    ...{ files: [], raw: null, head: null, decimals: [] },
  };
};

const outside = (option: string, at: bigint, { first, next }: Pick<Range, "first" | "next">) =>
  next > first
    ? `${option} ${at}: the log has checkpoints ${first} to ${next - 1n}`
    : "the log is empty: there is nothing to export";

/** Last checkpoint to export. @throws ArchiveRangeError (stop) */
export const lastOf = (range: Range, from: bigint, to = range.next - 1n): bigint => {
  if (to >= range.next) throw new ArchiveRangeError(outside("--to", to, range));
  if (to < from - 1n) {
    throw new ArchiveRangeError(
      `--to ${to}: the archive would begin with, or already goes to, ${from - 1n}`,
    );
  }
  return to;
};

/**
 * The archive has to be of this log up to its end, and of this deployment.
 * @throws ArchiveOfOtherLogError (stop)
 */
export const checkContinues = async (
  sql: Sql,
  folder: string,
  manifest: Manifest,
  { first, next, chainId }: Range,
  from?: bigint,
): Promise<void> => {
  const other = (what: string) => new ArchiveOfOtherLogError(folder, what);
  if (from !== undefined && from !== manifest.first) {
    throw other(`its archive begins with checkpoint ${manifest.first}, not with ${from}`);
  }
  // A log learns its chain with the first source that reports one.
  if (manifest.chainId !== null && manifest.chainId !== chainId) {
    throw other(`its archive is of chain ${manifest.chainId}, but the log is of chain ${chainId}`);
  }
  const end = nextOf(manifest);
  if (manifest.first < first || end > next) {
    throw other(
      `its archive has checkpoints ${manifest.first} to ${end - 1n}, but the log ${first} to ${next - 1n}`,
    );
  }
  const { facts } = manifest.files.at(-1)?.after ?? manifest.before;
  if ((await hashBefore(sql, end)) !== facts) {
    throw other(`its archive has other facts up to checkpoint ${end - 1n} than the log`);
  }
  // Another deployment's log of the same contract has the same facts.
  if (manifest.head !== null && !(await isOwnKey(sql, manifest.head))) {
    throw other(
      `the head of its archive is signed by ${manifest.head.keyId}, which is no key of this deployment`,
    );
  }
};

const isOwnKey = async (sql: Sql, { publicKey }: ArchiveHead): Promise<boolean> =>
  (await sql`select from deployment_keys where public_key = ${publicKey}`).length > 0;

export const hexOf = ({ hash }: { readonly hash: Uint8Array }): string =>
  Buffer.from(hash).toString("hex");
