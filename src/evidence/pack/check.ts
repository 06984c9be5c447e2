/**
 * Checks an audit pack against the validators' signatures, one checkpoint at a time: every fact up
 * to a signed summary, the first register against its objects and events, the last one against the
 * facts since.
 */

import type { CompletenessCertificate } from "../../../client/completeness.ts";
import type { Reference } from "../../../client/object-set.ts";
import {
  certificateIn,
  compareCertificate,
  shownComplete,
} from "../../../client/pack-certificate.ts";
import { PackCounts, PackLater, PackVersions } from "../../../client/pack-chains.ts";
import type { PackFiles } from "../../../client/pack-files.ts";
import type { ActLine } from "../../../client/pack-forms.ts";
import { PackHeads } from "../../../client/pack-heads.ts";
import { jsonLines } from "../../../client/pack-lines.ts";
import { LONGEST_ROW } from "../../../client/pack-tables.ts";
import type { Tier } from "../../../client/pack-verdict.ts";
import { isSigned } from "../../audit/sequence/deployment-key.ts";
import { readExcerpt } from "../../ledger/proof/excerpt.ts";
import type { ObjectReference } from "../../ledger/proof/object-set.ts";
import { createWanted, factsOf } from "../../ledger/reading/facts.ts";
import type { CheckpointMark, Fact } from "../../log/fact.ts";
import { capTableJson } from "../../projections/cap-table-json.ts";
import type { MembershipRange } from "../../projections/memberships.ts";
import { STILL_OPEN } from "../../projections/ranges.ts";
import type { RoleRange } from "../../projections/roles.ts";
import { PackBeginning } from "./beginning.ts";
import { type ChainEnd, PackChain } from "./chain.ts";
import {
  CHECKPOINTS,
  excerptFile,
  FILES,
  LATER,
  markIn,
  type PackHead,
  packError,
} from "./form.ts";
import { actsIn, leftOutBy } from "./left-out.ts";
import { holderEventLine, itemIn, movementLine, PackLines, roleEventLine } from "./lines.ts";
import { PackOpening } from "./opening.ts";
import type { Happened, RegisterTable } from "./register.ts";
import {
  excerptBytes,
  excerptsIn,
  type KnownValidators,
  openSignatures,
  reading,
} from "./signatures.ts";

/** With its memberships and roles. */
export type ProvenRegister = RegisterTable & {
  readonly memberships: readonly MembershipRange[];
  readonly roles: readonly RoleRange[];
};

/** Receives a pack's contents during the check; do not use them before it succeeds. */
export type Witness = {
  readonly opens: (first: ProvenRegister) => void;
  /** Checkpoints between the registers, ascending; facts of the coin in chain order. */
  readonly happens: (facts: readonly Fact[], happened: Happened) => void;
};

export type Outcome = {
  readonly first: ProvenRegister;
  readonly last: ProvenRegister;
  /** Checkpoints between the registers, and those that made the first one. */
  readonly checkpoints: number;
  readonly openingCheckpoints: number;
  /** Verified validator signatures, including those that end epochs. */
  readonly signatures: number;
  readonly lowestStake: bigint;
  readonly firstEpoch: bigint;
  readonly lastEpoch: bigint;
  /** Transactions between the registers with facts of the token, and their facts. */
  readonly transactions: number;
  readonly facts: number;
  readonly movements: number;
  readonly holderEvents: number;
  readonly roleEvents: number;
  /** Acts on the coin and on the whole deployment; null before version 3. */
  readonly acts: readonly ActLine[] | null;
  /** Objects, memberships and roles of the first register, and how many are proven. */
  readonly items: number;
  readonly itemsProven: number;
  /** How often a transaction found an object of the token in its last known version. */
  readonly followed: number;
  /** Whether the facts include the metadata; otherwise the decimals are as signed. */
  readonly decimalsProven: boolean;
  /** Facts up to the first register, as far as the pack has them. */
  readonly openingFacts: number;
  /** Ends of the coin's fact chain, now and at `marks`; null without all facts. */
  readonly chain: {
    readonly end: ChainEnd;
    readonly ends: ReadonlyMap<bigint, ChainEnd>;
  } | null;
  /** What the facts show about missing ones; null before version 4. */
  readonly shown: Tier | null;
};

/**
 * @param decimals from the tables, used if the facts have no metadata
 * @param marks checkpoints at which to record the end of the coin's fact chain
 * @throws AuditPackError (stop) naming the file and the failed check
 */
export const checkContents = async (
  pack: PackFiles,
  head: PackHead,
  decimals: number | null,
  known: KnownValidators = {},
  marks: Iterable<bigint> = [],
  witness?: Witness,
): Promise<Outcome> => {
  const { coinType } = head;
  const [first, last] = [markIn(head.first), markIn(head.last)];
  const signatures = await openSignatures(pack, head, known);
  const wanted = createWanted(head.packages);
  const acts = head.version < 3 ? null : await actsIn(pack);
  const beginning = new PackBeginning(coinType, leftOutBy(coinType, acts ?? []));
  const { register } = beginning;
  const versions = new PackVersions();
  const isWhole = head.opening === "whole";
  const chain = isWhole ? new PackChain(marks) : null;
  const certificate = head.version < 4 ? null : await certificateIn(pack, head, isSigned);
  const counts = new PackCounts();
  const heads = new PackHeads();
  const opening = new PackOpening(coinType, first.sequence);
  let items = 0;
  // A whole opening is folded from facts and compared at the end.
  for await (const line of isWhole ? [] : jsonLines(pack, FILES.firstState)) {
    const item = itemIn(line, coinType, STILL_OPEN);
    await reading(FILES.firstState, () => register.put(item));
    if (item.kind === "object") versions.put(item.fact);
    opening.expect(item);
    items += 1;
  }
  await using movements = new PackLines(pack, FILES.movements);
  await using holderEvents = new PackLines(pack, FILES.holderEvents);
  await using roleEvents = new PackLines(pack, FILES.roleEvents);
  const totals = {
    checkpoints: 0,
    openingCheckpoints: 0,
    openingFacts: 0,
    transactions: 0,
    facts: 0,
  };
  let firstRegister: ProvenRegister | undefined;

  const registerAt = async (file: string, mark: CheckpointMark, of: CheckpointMark) => {
    if (mark.digest !== of.digest || mark.timestampMs !== of.timestampMs) {
      throw packError(
        FILES.manifest,
        `checkpoint ${mark.sequence} has digest ${mark.digest} and time ${mark.timestampMs}, not ${of.digest} and ${of.timestampMs}`,
      );
    }
    const table = register.table(mark, decimals);
    await checkTable(pack, file, table, of === first && register.holdsNothing);
    return { ...table, memberships: register.memberships, roles: register.roles };
  };

  const sequences = excerptsIn(pack, CHECKPOINTS);
  const beyond = sequences.find((sequence) => sequence > last.sequence);
  if (beyond !== undefined) {
    throw packError(excerptFile(CHECKPOINTS, beyond), "is beyond the last checkpoint");
  }
  const provenIn = async (folder: typeof CHECKPOINTS | typeof LATER, sequence: bigint) => {
    const file = excerptFile(folder, sequence);
    const { certified, checkpoint, written } = await reading(file, async () =>
      readExcerpt(sequence, await excerptBytes(pack, file), wanted),
    );
    await signatures.prove(file, certified);
    const mark = { sequence, digest: checkpoint.digest, timestampMs: checkpoint.timestampMs };
    const facts = factsOf(checkpoint).filter((fact) => fact.coinType === coinType);
    return { file, mark, facts, written, objectSet: certified.objectSet };
  };

  /** What the certificate adds. The committees go on from the last register's. */
  const shownBy = async (of: CompletenessCertificate, table: RegisterTable): Promise<Tier> => {
    const { live } = versions;
    const later = new PackLater(live);
    for (const sequence of excerptsIn(pack, LATER)) {
      const { file, facts } = await provenIn(LATER, sequence);
      if (sequence <= last.sequence) throw packError(file, "is not beyond the last checkpoint");
      await reading(file, () => later.meet(facts));
    }
    const left = await heads.prove(pack, live, later, last.sequence);
    const found = { counted: counts.counted, live, later: later.later, left };
    const { totalSupply } = table.head;
    await compareCertificate(of, found, {
      totalSupply: totalSupply === null ? null : `${totalSupply}`,
      balances: table.rows.flatMap(({ wallets }) =>
        wallets.map(({ address, balance }) => [address, balance] as const),
      ),
    });
    return shownComplete(of, found);
  };

  for (const sequence of sequences) {
    const { file, mark, facts, written, objectSet } = await provenIn(CHECKPOINTS, sequence);
    chain?.add(mark, facts);
    if (certificate !== null) {
      counts.add(sequence, facts);
      heads.add(sequence, objectSet, leftIn(facts, written));
    }
    if (sequence <= first.sequence) {
      totals.openingCheckpoints += 1;
      totals.openingFacts += facts.length;
      await reading(file, async () => {
        if (!isWhole) return opening.meet(sequence, facts);
        versions.follow(facts);
        beginning.apply(facts);
      });
      if (sequence === first.sequence) {
        if (isWhole) items = await beginning.compare(pack);
        firstRegister = await registerAt(FILES.firstTable, mark, first);
        witness?.opens(firstRegister);
      }
      continue;
    }
    if (firstRegister === undefined) break;
    totals.checkpoints += 1;
    totals.facts += facts.length;
    totals.transactions += new Set(facts.map(({ transaction }) => transaction)).size;
    const happened = await reading(file, async () => {
      versions.follow(facts);
      return register.apply(facts);
    });
    for (const row of happened.movements) await movements.expect(movementLine(row));
    for (const row of happened.holderEvents) await holderEvents.expect(holderEventLine(row));
    for (const row of happened.roleEvents) await roleEvents.expect(roleEventLine(row));
    witness?.happens(facts, happened);
    if (sequence === last.sequence) {
      const lastRegister = await registerAt(FILES.lastTable, mark, last);
      for (const lines of [movements, holderEvents, roleEvents]) await lines.end();
      assertChain(head, chain);
      const shown = certificate === null ? null : await shownBy(certificate, lastRegister);
      const itemsProven = isWhole ? items : opening.proven;
      if (head.opening === "proven") opening.assertProven();
      return {
        first: firstRegister,
        last: lastRegister,
        ...totals,
        ...signatures.totals(),
        movements: movements.count,
        holderEvents: holderEvents.count,
        roleEvents: roleEvents.count,
        acts,
        items,
        itemsProven,
        followed: versions.followed,
        decimalsProven: register.decimals !== null,
        chain: chain && { end: chain.end, ends: chain.ends(last.sequence) },
        shown,
      };
    }
  }
  const missing = firstRegister === undefined ? first : last;
  throw packError(excerptFile(CHECKPOINTS, missing.sequence), "is missing");
};

/** The objects of these facts, as the checkpoint left them. */
const leftIn = (
  facts: readonly Fact[],
  written: ReadonlyMap<string, ObjectReference>,
): readonly Reference[] =>
  facts.flatMap((fact) => {
    if (fact.kind !== "object") return [];
    const { objectId, version } = fact;
    const left = written.get(objectId);
    return left?.version === version ? [{ objectId, version, digest: left.digest }] : [];
  });

/** Only compares the signer's claim: an entry of its sequence, kept elsewhere, binds it. */
const assertChain = ({ coinChain = null }: PackHead, chain: PackChain | null): void => {
  if (chain === null || coinChain === null) return;
  const { facts, hash } = chain.end;
  if (coinChain.facts === facts.toString() && coinChain.hash === hash) return;
  throw packError(
    FILES.manifest,
    `the chain of the coin's ${facts} facts in the pack ends with ${hash}, not with ${coinChain.hash} behind ${coinChain.facts}: checkpoints are missing`,
  );
};

/**
 * @param isEmpty the first register may be empty, without a treasury
 * @throws AuditPackError (stop) if the file differs from the folded table
 */
const checkTable = async (
  pack: PackFiles,
  file: string,
  table: RegisterTable,
  isEmpty: boolean,
): Promise<void> => {
  const { issued, totalSupply, coinType } = table.head;
  if (totalSupply === null && !isEmpty) {
    throw packError(
      file,
      `the treasury of ${coinType} is not among the objects of the pack: without it no register is whole`,
    );
  }
  if (totalSupply !== null && issued !== totalSupply) {
    throw packError(
      file,
      `all rows come to ${issued}, but the treasury has issued ${totalSupply}: tokens or grants are missing`,
    );
  }
  await using lines = new PackLines(pack, file, LONGEST_ROW);
  let text = "";
  for await (const piece of capTableJson(table.head, table.rows.length === 0 ? [] : [table.rows]))
    text += piece.data;
  for (const line of text.trimEnd().split("\n")) await lines.expect(line);
  await lines.end();
};
