/** Checks an archive by itself, without a database or a network. */
import { join } from "node:path";
import { canonicalJson } from "../../client/canonical-json.ts";
import { signedLogHead } from "../../client/verify-log-head.ts";
import { isSigned } from "../audit/sequence/deployment-key.ts";
import type { Committee } from "../ledger/proof/committee.ts";
import { countOf } from "../log/block.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { createRawFilesCheck } from "./check-raw.ts";
import { createSignatureCheck, SignatureFault } from "./check-signatures.ts";
import {
  ArchiveDamagedError,
  type ArchiveHead,
  type ArchiveSize,
  type Manifest,
  manifestPath,
  nextOf,
  readManifest,
  sizeOf,
} from "./manifest.ts";
import { readChunks } from "./read-archive.ts";

/** The archive is whole, but not the one that is trusted. Nothing was imported. */
export class ArchiveUntrustedError extends Error {
  override readonly name = "ArchiveUntrustedError";
  readonly remedy: Remedy = "stop";

  constructor(folder: string, what: string) {
    super(
      `${folder}: ${what}; do not use it: get the archive from whom you trust, or export it again`,
    );
  }
}

/** What is known of the archive from elsewhere. */
export type ArchiveTrust = {
  readonly root?: string | undefined;
  /** The deployment's public key, base64. */
  readonly key?: string | undefined;
  /** The validators of one of the archive's epochs. */
  readonly committee?: Committee | null;
};

export type VerifiedArchive = {
  readonly manifest: Manifest;
  readonly root: string;
  readonly size: ArchiveSize;
  /** Raw checkpoints that have the digests and facts of the log. */
  readonly rawCheckpoints: number;
  /** Verified ones of the validators. */
  readonly signatures: number;
  /** What neither the root nor a signature shows. */
  readonly faith: readonly string[];
};

/**
 * Reads the whole archive, a chunk at a time.
 * @param onProgress called after each chunk
 * @throws ArchiveDamagedError, ArchiveUntrustedError (both stop)
 */
export const verifyArchive = async (
  folder: string,
  trust: ArchiveTrust,
  signal: AbortSignal,
  onProgress: (next: bigint, of: bigint) => void = () => {},
): Promise<VerifiedArchive> => {
  const found = await readManifest(folder);
  if (found === null) {
    throw new ArchiveDamagedError(manifestPath(folder), "there is none", {
      advice: "name the folder that archive export wrote",
    });
  }
  const { manifest, root } = found;
  if (trust.root !== undefined && trust.root !== root) {
    throw new ArchiveUntrustedError(folder, `its root is ${root}, not ${trust.root}`);
  }
  checkHead(folder, manifest, trust);
  const { head } = manifest;
  let headHash: string | undefined;
  const onLink = (checkpoint: bigint, hash: string) => {
    if (checkpoint === head?.checkpoint) headHash = hash;
  };
  const signed = createSignatureCheck(trust.committee ?? null, manifest.first);
  const raw = createRawFilesCheck(folder, manifest);
  const guided: { first: bigint; last: bigint; read: number }[] = [];
  for await (const { file, batch } of readChunks(folder, manifest, { signal, onLink })) {
    await signed.check(batch).catch((error: unknown) => {
      if (!(error instanceof SignatureFault)) throw error;
      throw new ArchiveUntrustedError(join(folder, file.name), error.message);
    });
    if (head !== null && head.checkpoint >= file.first && head.checkpoint <= file.last) {
      checkHeadHash(folder, head, headHash);
    }
    await raw.check(batch);
    if (batch.guided) {
      const read = batch.blocks.reduce((sum, block) => sum + (countOf(block) ?? 0), 0);
      const [before, last] = [guided.at(-1), batch.last.sequence];
      if (before?.last !== batch.first - 1n) guided.push({ first: batch.first, last, read });
      else guided[guided.length - 1] = { ...before, last, read: before.read + read };
    }
    onProgress(file.last + 1n, nextOf(manifest));
  }
  const { signatures, trusted } = signed;
  if (!signed.givenSigned) {
    throw new ArchiveUntrustedError(
      folder,
      `none of its ${signatures} signatures is one of epoch ${trust.committee?.epoch}, whose committee COMMITTEE_FILE names`,
    );
  }
  const unsigned = signed
    .unsigned(nextOf(manifest) - 1n)
    .map(({ first, last }) => `${first} to ${last}`);
  const shown = [
    ...unsigned.slice(0, MOST_SHOWN),
    ...(unsigned.length > MOST_SHOWN ? ["others"] : []),
  ];
  const faith = [
    ...faithIn(manifest, trust),
    ...guided
      .slice(0, MOST_SHOWN)
      .map(
        (range) =>
          `checkpoints ${range.first} to ${range.last} were read guided, ${range.read} of them: that no other concerns the contract (\`prove complete\` shows it once they are imported)`,
      ),
    ...(unsigned.length === 0
      ? []
      : [`checkpoints ${shown.join(", ")}: no signature of the validators covers them`]),
  ];
  const committees = trusted.map(
    (epoch) => `the committee of epoch ${epoch}, which signed (COMMITTEE_FILE shows it)`,
  );
  return {
    manifest,
    root,
    size: sizeOf(manifest.files),
    rawCheckpoints: raw.checkpoints,
    signatures,
    faith: [...faith, ...committees],
  };
};

const checkHead = (folder: string, { head, chainId, files }: Manifest, { key }: ArchiveTrust) => {
  if (head === null) {
    if (key === undefined) return;
    throw new ArchiveUntrustedError(folder, "it has no signed head of the log to check with --key");
  }
  const { checkpoint, hash, publicKey, signature, keyId } = head;
  if (key !== undefined && key !== publicKey) {
    throw new ArchiveUntrustedError(
      folder,
      `its head is signed by ${keyId}, not with the key of --key`,
    );
  }
  // The first heads may predate the first source that reported a chain id.
  const isGenuine = [chainId, null].some((id) =>
    isSigned(
      signature,
      canonicalJson(signedLogHead({ chainId: id, checkpoint: `${checkpoint}`, hash })),
      publicKey,
    ),
  );
  if (!isGenuine) {
    throw new ArchiveUntrustedError(folder, `the signature of its head is not one of ${keyId}`);
  }
  if (!files.some(({ first, last }) => checkpoint >= first && checkpoint <= last)) {
    throw new ArchiveUntrustedError(
      folder,
      `its head is of checkpoint ${checkpoint}, which it lacks`,
    );
  }
};

const checkHeadHash = (folder: string, { checkpoint, hash, keyId }: ArchiveHead, own?: string) => {
  if (own === hash) return;
  throw new ArchiveUntrustedError(
    folder,
    `its facts lead to the hash ${own ?? "of none"} at checkpoint ${checkpoint}, but ${keyId} signed ${hash}: a fact was changed, and the hashes recomputed`,
  );
};

/** Stretches named in one sentence. */
const MOST_SHOWN = 10;

const faithIn = (manifest: Manifest, trust: ArchiveTrust): readonly string[] => {
  if (trust.root !== undefined) return [];
  const { head, files, first } = manifest;
  const last = files.at(-1)?.last ?? first - 1n;
  const others =
    "the times, digests, input versions, packages and how far back a signature reaches (--root shows it)";
  if (head === null || trust.key === undefined) {
    const who = head === null ? "--root shows it" : "--root or --key shows it";
    return [`that the facts are those of the log (${who})`, `the same of ${others}`];
  }
  return [
    ...(head.checkpoint < last
      ? [`the facts after checkpoint ${head.checkpoint}, whose head is signed (--root shows it)`]
      : []),
    others,
  ];
};
