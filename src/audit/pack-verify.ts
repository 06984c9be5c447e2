/** Verifies an audit pack: a folder, and nothing else. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { canonicalJson } from "../../client/canonical-json.mjs";
import { publicKeyOf, strictBase64, verifyBytes } from "../../client/ed25519.mjs";
import { signedRoot } from "../../client/verify-statement.mjs";
import type { Committee } from "../ledger/proof/committee.ts";
import { readJsonFile } from "../settings/json-file.ts";
import { checkContents, type Outcome } from "./pack-check.ts";
import { filesOf, hashed } from "./pack-files.ts";
import {
  AuditPackError,
  FILES,
  type Manifest,
  manifestSchema,
  type PackHead,
  signedPack,
} from "./pack-form.ts";
import { reportOf } from "./pack-report.ts";
import { isSameCommittee, packCommittee } from "./pack-signatures.ts";

/** What an auditor knows from elsewhere. */
export type KnownToAuditor = {
  /** Base64 of the deployment's key. */
  readonly publicKey?: string | undefined;
  readonly committee?: Committee | undefined;
  /** Digest of the checkpoint that names the committee that the pack begins with. */
  readonly digest?: string | undefined;
};

/**
 * @throws AuditPackError (stop) naming the first file that does not hold, and what of it
 */
export const verifyPack = async (
  folder: string,
  known: KnownToAuditor = {},
): Promise<{ readonly manifest: Manifest; readonly outcome: Outcome }> => {
  const manifest = await signedManifest(folder, known.publicKey);
  await checkFiles(folder, manifest);
  await checkTrust(folder, manifest, known);
  const outcome = await checkContents(folder, manifest);
  checkRoots(manifest, outcome);
  const { files: _, ...head } = manifest;
  const report = await readFile(join(folder, FILES.report), "utf8");
  if (report !== reportOf(head, outcome)) {
    throw new AuditPackError(FILES.report, "says something else than the other files");
  }
  return { manifest, outcome };
};

const readPackFile = (folder: string, file: string): Promise<Buffer> =>
  readFile(join(folder, file)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") throw new AuditPackError(file, "is missing");
    throw error;
  });

const signedManifest = async (folder: string, publicKey: string | undefined): Promise<Manifest> => {
  const bytes = await readPackFile(folder, FILES.manifest);
  const { content, faults } = readJsonFile(bytes.toString("utf8"), manifestSchema);
  if (content === undefined) throw new AuditPackError(FILES.manifest, faults.join("; "));
  const text = await readPackFile(folder, FILES.signature);
  const [, signature = ""] = /^\{"signature":"([^"]*)"\}\n$/.exec(text.toString("latin1")) ?? [];
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  if (!isSigned(content.publicKey, signature, signedPack(sha256))) {
    throw new AuditPackError(
      FILES.signature,
      `is no signature of ${FILES.manifest} by the key that it names: one of the two was changed`,
    );
  }
  if (publicKey !== undefined && publicKey !== content.publicKey) {
    throw new AuditPackError(
      FILES.manifest,
      `is signed with the key ${content.publicKey}, not with ${publicKey}`,
    );
  }
  return content;
};

const isSigned = (
  publicKey: string,
  signature: string,
  signed: Parameters<typeof canonicalJson>[0],
): boolean => {
  const bytes = strictBase64(signature);
  if (bytes?.length !== 64 || strictBase64(publicKey)?.length !== 32) return false;
  return verifyBytes(Buffer.from(canonicalJson(signed)), bytes, publicKeyOf(publicKey));
};

/** Every file is as the manifest says, and there is no other. */
const checkFiles = async (folder: string, { files }: Manifest): Promise<void> => {
  const found = new Set(await filesOf(folder));
  for (const [file, { sha256, size }] of Object.entries(files)) {
    if (!found.delete(file)) throw new AuditPackError(file, "is missing");
    const is = await hashed(join(folder, file));
    if (is.size !== size) throw new AuditPackError(file, `has ${is.size} bytes, not ${size}`);
    if (is.sha256 !== sha256) throw new AuditPackError(file, "was changed: its SHA-256 is another");
  }
  const [other] = found;
  if (other !== undefined) throw new AuditPackError(other, "is no file of the manifest");
};

const checkTrust = async (
  folder: string,
  { trust }: PackHead,
  { committee, digest }: KnownToAuditor,
): Promise<void> => {
  if (digest !== undefined && digest !== trust.digest) {
    throw new AuditPackError(
      FILES.manifest,
      trust.digest === null
        ? `the pack begins with the committee of epoch ${trust.epoch} itself, and not with a checkpoint: give the committee, with --committee-from`
        : `the pack begins with the committee that checkpoint ${trust.checkpoint} of digest ${trust.digest} names, not one of digest ${digest}`,
    );
  }
  if (committee === undefined || isSameCommittee(committee, await packCommittee(folder))) return;
  throw new AuditPackError(
    FILES.committee,
    committee.epoch === trust.epoch
      ? `is another committee of epoch ${trust.epoch} than the one given`
      : `is the committee of epoch ${trust.epoch}; one of epoch ${committee.epoch} was given`,
  );
};

/** The roots that were signed are those of the registers. */
const checkRoots = (manifest: Manifest, outcome: Outcome): void => {
  const { chainId, coinType, publicKey } = manifest;
  for (const name of ["first", "last"] as const) {
    const { root, total, signature } = manifest.roots[name];
    const { head } = outcome[name];
    if (root !== head.root || total !== head.issued) {
      throw new AuditPackError(
        FILES.manifest,
        `the ${name} root is ${root} of ${total}, but the register gives ${head.root} of ${head.issued}`,
      );
    }
    const signed = signedRoot({
      chainId,
      coinType,
      checkpoint: head.checkpoint.toString(),
      checkpointDigest: head.checkpointDigest,
      root,
      total: total.toString(),
    });
    if (!isSigned(publicKey, signature, signed)) {
      throw new AuditPackError(FILES.manifest, `the signature of the ${name} root does not hold`);
    }
  }
};
