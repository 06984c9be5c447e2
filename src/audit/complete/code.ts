/**
 * The contract's code: each version that a transaction can call has bytecode that a profile holds
 * for, and every version is known (`upgrades.ts`).
 */
import type { Sql } from "../../database/connect.ts";
import { type AcceptedBytecode, bytecodeIn } from "../../ledger/contract/bytecode.ts";
import type { Checkpoint } from "../../ledger/decode/checkpoint.ts";
import { decodeCheckpoint } from "../../ledger/decode/decode.ts";
import type { CheckpointSource } from "../../ledger/sources/source.ts";
import { packagesInLog } from "../../log/packages.ts";
import {
  capIn,
  type FollowUpgrades,
  type PublishedUpgrade,
  type UpgradeCap,
  upgradesOf,
} from "./upgrades.ts";
import { type ShownBy, WalkEndedError, type WholeCheckpoint } from "./whole-checkpoints.ts";

/** A version of the contract. */
export type CodeVersion = {
  readonly address: string;
  readonly version: bigint;
  /** Its publication. */
  readonly checkpoint: bigint;
  /** SHA-256, hex. */
  readonly bytecode: string;
  /** Who says that the profile holds for it; null: no known profile covers it. */
  readonly acceptedBy: "profile" | "setting" | null;
  /** The upgrade capability as the publication left it; null: not as an object of its own. */
  readonly cap: { readonly objectId: string; readonly version: bigint } | null;
  readonly shownBy: ShownBy;
};

export type CheckedCode = {
  /** Those published up to the last checkpoint asked about. */
  readonly versions: readonly CodeVersion[];
  readonly caps: readonly UpgradeCap[];
  /** Published up to the log's end, but not read. */
  readonly hidden: readonly PublishedUpgrade[];
  /** Upgrades among the versions whose code no profile is known to hold for. */
  readonly unknown: readonly CodeVersion[];
  readonly notShown: readonly string[];
  /** Whether upgrades were followed over the capability. */
  readonly isFollowed: boolean;
};

type CheckCode = FollowUpgrades & {
  readonly sql: Sql;
  readonly source: CheckpointSource;
  readonly accepted: AcceptedBytecode;
  readonly first: bigint;
  readonly through: bigint;
};

export const checkCode = async (asked: CheckCode, signal: AbortSignal): Promise<CheckedCode> => {
  const known = await packagesInLog(asked.sql);
  const versions: CodeVersion[] = [];
  const unknown: CodeVersion[] = [];
  const caps: UpgradeCap[] = [];
  const hidden: PublishedUpgrade[] = [];
  const notShown: string[] = [];
  const followed = new Set<string>();
  for (const { address, checkpoint } of known) {
    const found = await published(asked, address, checkpoint, signal);
    if ("notShown" in found) {
      notShown.push(`code: ${found.notShown}`);
      continue;
    }
    const { version, whole } = found;
    // Later code did nothing yet.
    if (version.checkpoint > asked.through) continue;
    versions.push(version);
    if (version.version !== 1n) {
      if (version.acceptedBy === null) unknown.push(version);
      continue;
    }
    if (version.acceptedBy === null) {
      notShown.push(
        `code: package ${address} has bytecode ${version.bytecode}, which no profile is known to hold for (CONTRACT_BYTECODE)`,
      );
    }
    for (const upgrades of await upgradesOf(asked, whole, address, signal)) {
      if ("notShown" in upgrades) {
        notShown.push(upgrades.notShown);
        continue;
      }
      caps.push(upgrades.cap);
      for (const one of upgrades.published) {
        const isKnown = known.some((each) => each.address === one.address);
        const isFound = followed.has(one.address);
        followed.add(one.address);
        if (!isKnown && !isFound && one.checkpoint <= asked.through) hidden.push(one);
      }
    }
  }
  const isFollowed = asked.nodes.length > 0;
  for (const { address, version } of isFollowed ? versions : []) {
    if (version === 1n || followed.has(address)) continue;
    notShown.push(`code: package ${address} is no version of another package of the log`);
  }
  return { versions, caps, hidden, unknown, notShown, isFollowed };
};

/** A package of the log in the checkpoint that published it. */
const published = async (
  asked: CheckCode,
  address: string,
  joinedAt: bigint | null,
  signal: AbortSignal,
): Promise<
  { readonly version: CodeVersion; readonly whole: WholeCheckpoint } | { readonly notShown: string }
> => {
  const at = joinedAt ?? (await publicationOf(asked, address, signal));
  if (at === null) return { notShown: `the publication of package ${address} was not found` };
  try {
    const whole = await asked.checkpoints.read(at, signal);
    const version = versionIn(whole, address, asked.accepted);
    if (version !== null) return { version, whole };
    return { notShown: `checkpoint ${at} does not publish package ${address}` };
  } catch (error) {
    if (!(error instanceof WalkEndedError)) throw error;
    return { notShown: `the publication of package ${address}: ${error.message}` };
  }
};

/** How many checkpoints of a log are read to find a publication, without a node that names it. */
const MOST_SCANNED = 2_000n;

const publicationOf = async (
  { nodes: [index], source, first, through }: CheckCode,
  address: string,
  signal: AbortSignal,
): Promise<bigint | null> => {
  const head = (await index?.heads([address], signal))?.get(address);
  if (index !== undefined && head) return index.checkpointOf(head.previousTransaction, signal);
  const named = await source.publishedAt?.(address, signal);
  if (named !== undefined && named !== null) return named;
  const scanned = first + MOST_SCANNED;
  const last = scanned < through ? scanned : through;
  for await (const raw of source.checkpoints({ first, last }, signal)) {
    const { transactions } = decodeCheckpoint(raw, () => false);
    if (transactions.some(({ packages }) => packages.some(({ id }) => id === address))) {
      return raw.sequence;
    }
  }
  return null;
};

const versionIn = (
  whole: WholeCheckpoint,
  address: string,
  accepted: AcceptedBytecode,
): CodeVersion | null => {
  const { checkpoint, raw, shownBy } = whole;
  const one = publishedIn(checkpoint).find(({ id }) => id === address);
  const bytecode = bytecodeIn(raw).get(address);
  if (one === undefined || bytecode === undefined) return null;
  const { id: objectId, version } = capIn(whole, address) ?? {};
  return {
    ...{ address, version: one.version, checkpoint: checkpoint.sequence, bytecode, shownBy },
    acceptedBy: accepted.get(bytecode) ?? null,
    cap: objectId && version !== undefined ? { objectId, version } : null,
  };
};

const publishedIn = ({ transactions }: Checkpoint) =>
  transactions.flatMap(({ packages }) => packages);
