/**
 * Upgrades of a package, by its upgrade capability: each upgrade changes it. Its versions, walked
 * back from the newest one over whole checkpoints, have every upgrade, so one that was not read
 * shows. `package::make_immutable` deletes it, and nothing upgrades the package from then on: the
 * walk then begins at the deletion, which the ledger shows.
 */
import { packageOfCap, UPGRADE_CAP, versionOfCap } from "../../ledger/contract/upgrade-cap.ts";
import type { OutputObject, Transaction } from "../../ledger/decode/checkpoint.ts";
import { decodeWith } from "../../ledger/decode/decode.ts";
import type { Removal } from "../../ledger/decode/effects.ts";
import { previousTransactionOf } from "../../ledger/guided/read-found.ts";
import type { LedgerIndex } from "../../ledger/history/ledger-index.ts";
import { walkBack } from "./object-walk.ts";
import { touchingFrom } from "./touching.ts";
import {
  type ShownBy,
  WalkEndedError,
  type WholeCheckpoint,
  type WholeCheckpoints,
} from "./whole-checkpoints.ts";

/** The right to upgrade a package. */
export type UpgradeCap = {
  readonly objectId: string;
  /** Newest; the last one of a deleted capability. */
  readonly version: bigint;
  /** Versions of the package. */
  readonly packages: bigint;
  /** Its deletion, after which the package cannot be upgraded; null: a node serves the version. */
  readonly deleted: { readonly checkpoint: bigint; readonly transaction: string } | null;
  /** Who serves it, or lists its deletion. */
  readonly node: string;
  /** The weakest of its steps. */
  readonly shownBy: ShownBy;
};

export type PublishedUpgrade = {
  readonly address: string;
  readonly checkpoint: bigint;
  readonly cap: Pick<UpgradeCap, "objectId" | "version">;
};

/** Versions that a capability leads to, newest first. */
type Followed = { readonly cap: UpgradeCap; readonly published: readonly PublishedUpgrade[] };
type NotFollowed = { readonly notShown: string };

export type FollowUpgrades = {
  readonly checkpoints: WholeCheckpoints;
  /** Nodes with lists; each says which version of a capability is the newest. */
  readonly nodes: readonly LedgerIndex[];
};

/** The capability of a version of a package, as the checkpoint that published it left it. */
export const capIn = ({ checkpoint }: WholeCheckpoint, address: string): OutputObject | null =>
  checkpoint.transactions
    .flatMap(({ outputObjects }) => outputObjects)
    .find(({ type, contents }) => type === UPGRADE_CAP && packageOfCap(contents) === address) ??
  null;

/**
 * What each node says about the upgrades of a package since its publication. One proven deletion
 * suffices.
 */
export const upgradesOf = async (
  asked: FollowUpgrades,
  publication: WholeCheckpoint,
  address: string,
  signal: AbortSignal,
): Promise<readonly (Followed | NotFollowed)[]> => {
  const cap = capIn(publication, address);
  if (cap === null) {
    const what = "its publication leaves no upgrade capability that is an object of its own";
    return asked.nodes.length === 0 ? [] : [notShown(address, what)];
  }
  const found: (Followed | NotFollowed)[] = [];
  for (const index of asked.nodes) {
    const one = await followed({ ...asked, index }, { publication, address, cap }, signal).catch(
      (error: unknown) => {
        if (error instanceof WalkEndedError) return notShown(address, error.message);
        throw error;
      },
    );
    if ("cap" in one && one.cap.deleted !== null) return [one];
    found.push(one);
  }
  return found;
};

const notShown = (address: string, what: string): NotFollowed => ({
  notShown: `code: whether package ${address} was upgraded: ${what}`,
});

type Following = FollowUpgrades & { readonly index: LedgerIndex };
type Published = {
  readonly publication: WholeCheckpoint;
  readonly address: string;
  readonly cap: OutputObject;
};

/** @throws WalkEndedError */
const followed = async (
  asked: Following,
  { publication, address, cap: { id, contents } }: Published,
  signal: AbortSignal,
): Promise<Followed> => {
  const { index } = asked;
  const served = (await index.heads([id], signal)).get(id) ?? null;
  const deletion =
    served === null ? await deletionOf(asked, id, publication.checkpoint.sequence, signal) : null;
  const head = served ?? deletion?.last;
  if (head === undefined) throw new WalkEndedError(`${index.description} has no object ${id}`);
  const published: PublishedUpgrade[] = [];
  /** What a transaction that used the capability publishes. */
  const note = (transaction: Transaction, sequence: bigint, version: bigint): void => {
    const written = transaction.outputObjects.find((object) => object.id === id);
    for (const { id: upgraded, typeOrigins } of transaction.packages) {
      // An upgrade keeps all types, and so their origins.
      const isOurs =
        typeOrigins.includes(address) || (written && packageOfCap(written.contents) === upgraded);
      const cap = { objectId: id, version };
      if (isOurs) published.push({ address: upgraded, checkpoint: sequence, cap });
    }
  };
  // One transaction may upgrade and then delete.
  if (deletion !== null) note(deletion.transaction, deletion.checkpoint, deletion.last.version);
  let packages = versionOfCap(contents);
  let shownBy = weaker(publication.shownBy, deletion?.shownBy ?? "signature");
  for await (const step of walkBack(asked, id, head, signal)) {
    const { version, before, transaction, whole } = step;
    const { sequence } = whole.checkpoint;
    const written = transaction.outputObjects.find((object) => object.id === id);
    if (version === head.version && written) packages = versionOfCap(written.contents);
    shownBy = weaker(shownBy, whole.shownBy);
    const isPublication = transaction.packages.some((one) => one.id === address);
    if (before === null && isPublication) break;
    if (before === null) {
      throw new WalkEndedError(
        `the upgrade capability ${id} was unwrapped at checkpoint ${sequence}, and a wrapped one can be used unseen`,
      );
    }
    note(transaction, sequence, version);
  }
  const deleted = deletion && {
    checkpoint: deletion.checkpoint,
    transaction: deletion.transaction.digest,
  };
  const { version } = head;
  const node = deletion?.node ?? index.description;
  return { cap: { objectId: id, version, packages, deleted, node, shownBy }, published };
};

/** Strongest first. */
const STRENGTH: readonly ShownBy[] = ["signature", "log", "source"];

const weaker = (one: ShownBy, other: ShownBy): ShownBy =>
  STRENGTH.indexOf(one) < STRENGTH.indexOf(other) ? other : one;

/**
 * The deletion of a capability that a node does not serve, in the newest checkpoint that lists name
 * for it: a deleted object changes no more.
 * @throws WalkEndedError when that is no deletion, or cannot be had
 */
const deletionOf = async (
  { index, nodes, checkpoints }: Following,
  id: string,
  first: bigint,
  signal: AbortSignal,
) => {
  const missing = `${index.description} has no object ${id}, its upgrade capability`;
  const range = { first, isLaterEnough: true };
  for (const node of [index, ...nodes.filter((other) => other !== index)]) {
    const newest = (await touchingFrom(node, id, range, signal))?.at(-1);
    if (newest === undefined) continue;
    const whole = await checkpoints.read(newest, signal);
    const removal = removalIn(whole, id);
    const where = `checkpoint ${newest}, the newest that ${node.description} lists for it`;
    if (removal === null) throw new WalkEndedError(`${missing}, and ${where}, does not delete it`);
    const { how, transaction, version } = removal;
    if (how === "wrapped" || version === null) {
      throw new WalkEndedError(
        `${missing}: it was wrapped ${how === "wrapped" ? "in" : "before"} ${where}, and a wrapped one can be used unseen`,
      );
    }
    const previousTransaction = previousTransactionOf(whole.raw, id, version);
    if (previousTransaction === null) {
      throw new WalkEndedError(
        `checkpoint ${newest} does not name the transaction that wrote version ${version} of object ${id}`,
      );
    }
    const { shownBy } = whole;
    const last = { version, previousTransaction, changedIn: newest };
    return { ...{ checkpoint: newest, transaction, last, shownBy }, node: node.description };
  }
  throw new WalkEndedError(`${missing}, and no lists show what became of it`);
};

/**
 * How a checkpoint removes an object; null: it does not, or its effects (before 2024) do not say how.
 * `version` is the last one; null: the object was wrapped before.
 */
const removalIn = ({ raw, checkpoint }: WholeCheckpoint, id: string) => {
  const found: { readonly how: Removal["how"]; readonly index: number }[] = [];
  decodeWith(raw, {
    inputs: false,
    claim: (cursor, { effects, transaction: index }) => {
      const removal = effects?.removals.find(({ idAt }) => cursor.address(idAt) === id);
      if (removal !== undefined && index !== null) found.push({ how: removal.how, index });
    },
  });
  const last = found.at(-1);
  const transaction = checkpoint.transactions[last?.index ?? -1];
  if (last === undefined || transaction === undefined) return null;
  const version = transaction.removedObjects.find((object) => object.id === id)?.version ?? null;
  return { how: last.how, transaction, version };
};
