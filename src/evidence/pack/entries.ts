/**
 * Entries of the deployment's signed sequence that an auditor kept: what the deployment said at their time that
 * the facts of a coin were, and can no longer take back.
 */

import type { Tier } from "../../../client/verify-audit-pack.ts";
import { type SequenceEntry, SequenceError } from "../../../client/verify-sequence.ts";
import { textIn } from "../../audit/sequence/sequence.ts";
import {
  type KeptEntries,
  passedOver,
  readEntries,
  revocationOf,
  signerShown,
} from "../../audit/verify/kept-entries.ts";
import { createSumTree } from "../../projections/merkle-sum.ts";
import { lowest } from "../../values/bigints.ts";
import type { ChainEnd } from "./chain.ts";
import { FILES, type Manifest, type PackHead, packError } from "./form.ts";
import type { RegisterTable } from "./register.ts";

/** Where a coin's chain of facts ended, as the deployment signed it. */
type CoinEntry = {
  /** Number of the entry in the sequence. */
  readonly number: string;
  readonly at: string;
  readonly checkpoint: bigint;
} & ChainEnd;

/** What the entries say of the pack's coin. */
type PackEntries = {
  readonly coins: readonly CoinEntry[];
  /** Entries about roots of its registers, of both versions. */
  readonly roots: readonly SequenceEntry[];
  /** All entries. */
  readonly all: readonly SequenceEntry[];
  /** Which entries say nothing, and why. */
  readonly notes: readonly string[];
  readonly kept: KeptEntries;
};

/**
 * The entries of these files about the pack's coin: where its chain ended, and the roots of its registers.
 * @param given the deployment's key, base64, where the auditor knows one
 * @throws AuditPackError (stop) for entries that do not hold
 * @throws KeptHeadsError (stop) for a file that has something else
 */
export const packEntries = async (
  paths: readonly string[],
  manifest: Manifest,
  given?: string,
): Promise<PackEntries> => {
  const kept = await readEntries(paths, given ?? manifest.publicKey).catch(
    (error: unknown): never => {
      if (error instanceof SequenceError) throw packError("--entry", error.message, "complete");
      throw error;
    },
  );
  const { chainId, coinType } = manifest;
  const about = kept.entries.filter(({ body }) => body.coinType === coinType);
  const foreign = about.find(({ body }) => body.chainId !== null && body.chainId !== chainId);
  if (foreign !== undefined) {
    const what = `is of the chain ${textIn(foreign.body, "chainId")}, and the pack of ${chainId}`;
    throw packError(`entry ${foreign.number}`, what, "complete");
  }
  // Entries from before a correction are about another log.
  const anew = kept.entries.findLast(
    ({ kind, body }) => kind === "correction" && body.of === "log",
  );
  const since = BigInt(anew?.number ?? -1);
  const coins = about.filter(({ kind }) => kind === "coin");
  const current = coins.filter(({ number }) => BigInt(number) > since);
  const earlier = coins.length - current.length;
  return {
    coins: current.map(coinEntryIn),
    all: kept.entries,
    kept,
    roots: about.filter(({ kind }) => kind === "root"),
    notes: [
      ...passedOver(kept),
      ...(earlier === 0
        ? []
        : [`${earlier} entries are about the log that entry ${since} says was read anew`]),
    ],
  };
};

const coinEntryIn = ({ number, at, body }: SequenceEntry): CoinEntry => ({
  number,
  at,
  checkpoint: BigInt(textIn(body, "checkpoint")),
  facts: BigInt(textIn(body, "facts")),
  hash: textIn(body, "hash"),
});

/** What the entries prove. */
export type Kept = {
  /** The newest that shows something; null: none does. */
  readonly entry: CoinEntry | null;
  /** The pack has all facts up to here; null: not shown. */
  readonly through: bigint | null;
  readonly notes: readonly string[];
};

/**
 * Holds the chain of a pack against the entries.
 * @param chain where the chain of the pack ended, also at the entries' checkpoints; null when the pack has not all facts
 * @throws AuditPackError (stop) when the pack has other facts than the deployment signed
 */
export const heldAgainst = (
  { coins, notes }: PackEntries,
  { last }: Pick<Manifest, "last">,
  chain: { readonly end: ChainEnd; readonly ends: ReadonlyMap<bigint, ChainEnd> } | null,
): Kept => {
  let kept: Kept = { entry: null, through: null, notes };
  if (chain === null) return kept;
  const { end, ends } = chain;
  for (const entry of coins) {
    const { checkpoint, number, facts, hash } = entry;
    const own = ends.get(checkpoint) ?? end;
    const isSame = own.facts === facts && own.hash === hash;
    if (!isSame && checkpoint > last.checkpoint) {
      const note = `entry ${number} is of checkpoint ${checkpoint}, behind the pack, and counts ${facts} facts, not ${own.facts}: it says nothing about a pack that ends before`;
      kept = { ...kept, notes: [...kept.notes, note] };
      continue;
    }
    if (!isSame) {
      throw packError(
        `entry ${number}`,
        `says that the chain of the coin ended at checkpoint ${checkpoint} with ${facts} facts and the hash ${hash}; the pack gives ${own.facts} and ${own.hash}: facts were left out, added or changed`,
        "complete",
      );
    }
    const through = lowest(checkpoint, last.checkpoint);
    if (kept.through === null || kept.through < through) kept = { ...kept, entry, through };
  }
  return kept;
};

/**
 * @param authentic the verdict without a known key
 * @param given the deployment's key, base64, where the auditor knows one
 * @throws AuditPackError (stop) for a key that neither is the given one nor follows from it
 */
export const authenticBy = (
  authentic: Tier,
  kept: KeptEntries,
  { publicKey: own }: Pick<Manifest, "publicKey">,
  given: string | undefined,
): Tier => {
  const signer = signerShown(kept, given, own);
  if (signer === undefined) {
    const what = `is signed with the key ${own}, not with ${given}, and no entry leads from one to the other`;
    throw packError(FILES.signature, what, "authentic");
  }
  const [, ...by] = authentic.by;
  // The first is whose key it is.
  const [, ...open] = authentic.not_shown;
  const isShown = signer.how !== "itself";
  const tier = isShown
    ? { holds: true, by: [WITH[signer.how](own), ...by], not_shown: open }
    : { ...authentic, not_shown: [...signer.notShown, ...authentic.not_shown] };
  const revoked = revocationOf(kept, own);
  if (revoked === undefined) return tier;
  const { keyId, from, entry } = revoked;
  const when = `that it was signed before the key ${keyId} was revoked: entry ${entry}, which was kept, does so from entry ${from} on, and the signature of a pack names no entry. Ask for a pack that the newest key signs`;
  return { ...tier, holds: null, not_shown: [when, ...tier.not_shown] };
};

const WITH = {
  given: () => "the manifest is signed with the key given",
  "led to": (own: string) =>
    `the manifest is signed with ${own}, a key of the deployment, as entries that were kept say, beginning with the key given`,
};

/**
 * What is shown by entries about the registers of a pack; those of other checkpoints say nothing of it.
 * @throws AuditPackError (stop) when another root was published
 */
export const heldRoots = (
  entries: readonly SequenceEntry[],
  head: Pick<PackHead, "first" | "last">,
  tables: { readonly first: RegisterTable; readonly last: RegisterTable },
): readonly string[] =>
  (["first", "last"] as const).flatMap((name) =>
    entries
      .filter(({ body }) => body.checkpoint === `${head[name].checkpoint}`)
      .map(({ number, at, body }) => {
        const { issued, checkpointDigest } = tables[name].head;
        const version = textIn(body, "version");
        const own = version === "1" ? tables[name].head.root : root2Of(tables[name], body);
        const said = [
          textIn(body, "root"),
          textIn(body, "total"),
          textIn(body, "checkpointDigest"),
        ];
        const has = [own, `${issued}`, checkpointDigest];
        if (said.join() !== has.join()) {
          throw packError(
            name === "first" ? FILES.firstTable : FILES.lastTable,
            `has the root ${own} of version ${version} with the total ${issued}; entry ${number}, which was kept, says ${said[0]} and ${said[1]}: the deployment published another register`,
            "complete",
          );
        }
        return `entry ${number} of the deployment's sequence, which you kept: dated ${at}, names the root of version ${version} of the ${name} register, as everybody was shown it`;
      }),
  );

const root2Of = (
  { head: { coinType, checkpoint }, rows }: RegisterTable,
  body: SequenceEntry["body"],
): string => {
  const decimals = body.decimals === null ? null : Number(textIn(body, "decimals"));
  const tree = createSumTree();
  for (const row of rows) tree.add({ coinType, checkpoint, version: 2, decimals, row });
  return tree.top().root;
};
