/**
 * The contract's code: each version that a transaction can call has bytecode that a profile holds
 * for, and every version is known.
 *
 * An upgrade changes the upgrade capability of its package. Its chain, walked back from its newest
 * version over whole checkpoints, has every upgrade, so one that was not read shows.
 */
import type { Sql } from "../../database/connect.ts";
import { type AcceptedBytecode, bytecodeIn } from "../../ledger/contract/bytecode.ts";
import type { Checkpoint, OutputObject } from "../../ledger/decode/checkpoint.ts";
import { decodeCheckpoint } from "../../ledger/decode/decode.ts";
import type { LedgerIndex } from "../../ledger/history/ledger-index.ts";
import type { CheckpointSource } from "../../ledger/sources/source.ts";
import { packagesInLog } from "../../log/packages.ts";
import { canonicalAddress } from "../../values/move-type.ts";
import { walkBack } from "./object-walk.ts";
import {
  type ShownBy,
  WalkEndedError,
  type WholeCheckpoint,
  type WholeCheckpoints,
} from "./whole-checkpoints.ts";

/** A version of the contract. */
export type CodeVersion = {
  readonly address: string;
  readonly version: bigint;
  /** Its publication. */
  readonly checkpoint: bigint;
  /** SHA-256, hex. */
  readonly bytecode: string;
  /** Who says that the profile holds for it; null: it is not known to. */
  readonly acceptedBy: "profile" | "setting" | null;
  readonly shownBy: ShownBy;
};

/** The right to upgrade, as the node serves it. */
export type UpgradeCap = {
  readonly objectId: string;
  readonly version: bigint;
  /** Versions of the package. */
  readonly packages: bigint;
  /** Who serves it. */
  readonly node: string;
  /** The weakest of its steps. */
  readonly shownBy: ShownBy;
};

export type HiddenUpgrade = {
  readonly address: string;
  readonly checkpoint: bigint;
  readonly cap: Pick<UpgradeCap, "objectId" | "version">;
};

export type CheckedCode = {
  readonly versions: readonly CodeVersion[];
  readonly caps: readonly UpgradeCap[];
  /** Published up to the log's end, but not read. */
  readonly hidden: readonly HiddenUpgrade[];
  readonly notShown: readonly string[];
  /** Whether upgrades were followed over the capability. */
  readonly isFollowed: boolean;
};

type CheckCode = {
  readonly sql: Sql;
  readonly source: CheckpointSource;
  readonly checkpoints: WholeCheckpoints;
  /** Nodes with lists; each says which version of a capability is the newest. */
  readonly nodes: readonly LedgerIndex[];
  readonly accepted: AcceptedBytecode;
  readonly first: bigint;
  readonly through: bigint;
};

export const checkCode = async (asked: CheckCode, signal: AbortSignal): Promise<CheckedCode> => {
  const known = await packagesInLog(asked.sql);
  const versions: CodeVersion[] = [];
  const caps: UpgradeCap[] = [];
  const hidden: HiddenUpgrade[] = [];
  const notShown: string[] = [];
  const followed = new Set<string>();
  for (const { address, checkpoint } of known) {
    const at = checkpoint ?? (await publicationOf(asked, address, signal));
    if (at === null) {
      notShown.push(`code: the publication of package ${address} was not found`);
      continue;
    }
    const whole = await asked.checkpoints.read(at, signal).catch((error: unknown) => {
      if (error instanceof WalkEndedError) return error.message;
      throw error;
    });
    if (typeof whole === "string") {
      notShown.push(`code: the publication of package ${address}: ${whole}`);
      continue;
    }
    const version = versionIn(whole, address, asked.accepted);
    if (version === null) {
      notShown.push(`code: checkpoint ${at} does not publish package ${address}`);
      continue;
    }
    versions.push(version);
    if (version.acceptedBy === null) {
      notShown.push(
        `code: package ${address} has bytecode ${version.bytecode}, which no profile is known to hold for (CONTRACT_BYTECODE)`,
      );
    }
    if (version.version !== 1n) continue;
    for (const index of asked.nodes) {
      const upgrades = await upgradesOf({ ...asked, index }, whole, address, signal);
      if ("notShown" in upgrades) notShown.push(upgrades.notShown);
      else {
        caps.push(upgrades.cap);
        for (const one of upgrades.published) {
          const isKnown = known.some((each) => each.address === one.address);
          const isFound = followed.has(one.address);
          followed.add(one.address);
          if (!isKnown && !isFound && one.checkpoint <= asked.through) hidden.push(one);
        }
      }
    }
  }
  const isFollowed = asked.nodes.length > 0;
  for (const { address, version } of isFollowed ? versions : []) {
    if (version === 1n || followed.has(address)) continue;
    notShown.push(`code: package ${address} is no version of another package of the log`);
  }
  return { versions, caps, hidden, notShown, isFollowed };
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
  { checkpoint, raw, shownBy }: WholeCheckpoint,
  address: string,
  accepted: AcceptedBytecode,
): CodeVersion | null => {
  const published = publishedIn(checkpoint).find(({ id }) => id === address);
  const bytecode = bytecodeIn(raw).get(address);
  if (published === undefined || bytecode === undefined) return null;
  const acceptedBy = accepted.get(bytecode) ?? null;
  const { version } = published;
  return { address, version, checkpoint: checkpoint.sequence, bytecode, acceptedBy, shownBy };
};

const publishedIn = ({ transactions }: Checkpoint) =>
  transactions.flatMap(({ packages }) => packages);

const UPGRADE_CAP = `${canonicalAddress("0x2")}::package::UpgradeCap`;

/** `UpgradeCap`: its id, the package's newest version, the number of that version, the policy. */
const packageOf = ({ contents }: OutputObject): string =>
  `0x${Buffer.from(contents.subarray(32, 64)).toString("hex")}`;

const numberOf = ({ contents }: OutputObject): bigint =>
  Buffer.from(contents.buffer, contents.byteOffset).readBigUInt64LE(64);

/** Versions that the capability of a published package leads to, newest first. */
const upgradesOf = async (
  asked: CheckCode & { readonly index: LedgerIndex },
  published: WholeCheckpoint,
  address: string,
  signal: AbortSignal,
): Promise<
  | { readonly cap: UpgradeCap; readonly published: readonly HiddenUpgrade[] }
  | { readonly notShown: string }
> => {
  const { index } = asked;
  const of = `code: whether package ${address} was upgraded`;
  const [cap] = published.checkpoint.transactions
    .flatMap(({ outputObjects }) => outputObjects)
    .filter((object) => object.type === UPGRADE_CAP && packageOf(object) === address);
  if (cap === undefined) {
    return {
      notShown: `${of}: its publication leaves no upgrade capability that is an object of its own`,
    };
  }
  const head = (await index.heads([cap.id], signal)).get(cap.id) ?? null;
  if (head === null) {
    return {
      notShown: `${of}: ${index.description} has no object ${cap.id}, its upgrade capability, which was deleted or wrapped`,
    };
  }
  const found: HiddenUpgrade[] = [];
  let packages = numberOf(cap);
  let { shownBy } = published;
  try {
    for await (const step of walkBack({ ...asked, index }, cap.id, head, signal)) {
      const { version, before, transaction, whole } = step;
      const [written] = transaction.outputObjects.filter(({ id }) => id === cap.id);
      if (version === head.version && written !== undefined) packages = numberOf(written);
      if (whole.shownBy !== "signature") ({ shownBy } = whole);
      if (before === null) break;
      const { sequence } = whole.checkpoint;
      for (const { id, typeOrigins } of transaction.packages) {
        // An upgrade keeps all types, and so their origins.
        const isOurs = typeOrigins.includes(address) || (written && packageOf(written) === id);
        if (!isOurs) continue;
        const ofCap = { objectId: cap.id, version };
        found.push({ address: id, checkpoint: sequence, cap: ofCap });
      }
    }
  } catch (error) {
    if (!(error instanceof WalkEndedError)) throw error;
    return { notShown: `${of}: ${error.message}` };
  }
  return {
    cap: { objectId: cap.id, version: head.version, packages, node: index.description, shownBy },
    published: found,
  };
};
