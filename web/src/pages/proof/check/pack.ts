/** Checks what of an audit pack can be checked without the ledger's decoder: signatures, files, registers, movements. */

import { countText } from "../../../shown/amount.ts";
import { loadSignatures, loadStatements } from "./client.ts";
import type { Files } from "./dropped.ts";
import { type Manifest, manifestOf } from "./manifest.ts";
import { memberTwice } from "./members.ts";
import { registerSteps, skippedRegisters } from "./registers.ts";
import { type Report, type Said, type Step, stepOf, UncheckableError } from "./report.ts";

/** Told while files are hashed: how many of how many. */
export type Progress = (done: number, of: number) => void;

const OPEN = [
  "That the movements follow from transactions that the validators signed. The command audit-pack verify checks that on your own machine, without a network.",
  "That the first register stands on the ledger, that no transaction is left out, and events of holders and roles. The same command does what can be done.",
  "Whose key it is, and which validators stand at the beginning: compare them with what you know from elsewhere.",
];

/** Bytes of a manifest; a pack of 100,000 checkpoints has 20 MB of it. */
const LONGEST_MANIFEST = 128 * 1024 * 1024;

/** @throws UncheckableError when there is no manifest that can be read */
export const checkPack = async (files: Files, told: Progress): Promise<Report> => {
  const file = files.get("manifest.json");
  if (file === undefined || file.size > LONGEST_MANIFEST) {
    throw new UncheckableError("There is no manifest.json of an audit pack in it.");
  }
  if (globalThis.crypto?.subtle === undefined) {
    throw new UncheckableError(
      "This browser computes no hashes for pages that came over plain http. Open the page over https, or at localhost.",
    );
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  const text = new TextDecoder().decode(bytes);
  const twice = jsonTwice(text);
  const manifest = manifestOf(JSON.parse(text));
  if (manifest === null) {
    throw new UncheckableError("manifest.json has not the form of an audit pack of version 1.");
  }
  const signature = await signatureIn(files);
  const signed: Step[] = [
    await signatureStep(bytes, manifest, signature, twice),
    await rootsStep(manifest),
    await filesStep(files, manifest, told),
  ];
  const steps = [
    ...signed,
    ...(signed.every(({ result }) => result === "holds")
      ? await registerSteps(files, manifest)
      : skippedRegisters),
  ];
  const token = manifest.coinType.split("::").at(-1) ?? manifest.coinType;
  return {
    kind: "audit pack",
    verdict: "This audit pack is as it was signed, and its registers add up",
    title: `${token} from checkpoint ${manifest.first.checkpoint} to ${manifest.last.checkpoint}`,
    steps,
    says: saysOf(manifest),
    publicKey: manifest.publicKey,
    root: {
      coinType: manifest.coinType,
      checkpoint: manifest.last.checkpoint,
      root: manifest.roots.last.root,
    },
    open: OPEN,
  };
};

const jsonTwice = (text: string): string | null => {
  try {
    JSON.parse(text);
  } catch {
    throw new UncheckableError("manifest.json is not JSON.");
  }
  return memberTwice(text);
};

const signatureIn = async (files: Files): Promise<string> => {
  const text = await files.get("manifest.sig.json")?.slice(0, 1_000).text();
  return /^\{"signature":"([^"]*)"\}\n$/.exec(text ?? "")?.[1] ?? "";
};

const signatureStep = async (
  bytes: Uint8Array<ArrayBuffer>,
  { publicKey }: Manifest,
  signature: string,
  twice: string | null,
): Promise<Step> => {
  const signed = { purpose: "holderbook-audit-pack-v1", manifestSha256: await sha256(bytes) };
  const faults =
    twice !== null
      ? [`the member ${twice} is there twice`]
      : (await isSigned(publicKey, signature, signed))
        ? []
        : ["manifest.sig.json is no signature of the manifest by the key that it names"];
  return stepOf(
    "The deployment signed the manifest",
    faults,
    "The signature fits the key that the manifest names: nothing in it was changed.",
  );
};

const rootsStep = async ({
  chainId,
  coinType,
  publicKey,
  first,
  last,
  roots,
}: Manifest): Promise<Step> => {
  const { signedRoot } = await loadStatements();
  const details: string[] = [];
  for (const [name, mark, root] of [
    ["first", first, roots.first],
    ["last", last, roots.last],
  ] as const) {
    const { checkpoint, digest: checkpointDigest } = mark;
    const signed = signedRoot({ chainId, coinType, checkpoint, checkpointDigest, ...root });
    if (!(await isSigned(publicKey, root.signature, signed))) {
      details.push(`the signature of the ${name} root does not hold`);
    }
  }
  return stepOf(
    "The deployment signed both registers' roots",
    details,
    `Those of checkpoints ${first.checkpoint} and ${last.checkpoint}.`,
  );
};

const filesStep = async (files: Files, manifest: Manifest, told: Progress): Promise<Step> => {
  const details: string[] = [];
  const named = new Set(["manifest.json", "manifest.sig.json", ...Object.keys(manifest.files)]);
  for (const path of files.keys()) {
    if (!named.has(path)) details.push(`${path} is no file of the manifest`);
  }
  const entries = Object.entries(manifest.files);
  let [done, size] = [0, 0n];
  for (const [path, expected] of entries) {
    const file = files.get(path);
    if (file === undefined) details.push(`${path} is missing`);
    else if (BigInt(file.size) !== expected.size) {
      details.push(`${path} has ${file.size} bytes, not ${expected.size}`);
    } else if ((await sha256(new Uint8Array(await file.arrayBuffer()))) !== expected.sha256) {
      details.push(`${path} was changed: its SHA-256 is another`);
    }
    size += expected.size;
    done += 1;
    told(done, entries.length);
  }
  return stepOf(
    "Every file is the one that was signed",
    details,
    `${entries.length} files, ${countText(size)} bytes, all with the SHA-256 of the manifest, and no other.`,
  );
};

const sha256 = async (bytes: Uint8Array<ArrayBuffer>): Promise<string> =>
  Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");

/** Whether a key signed the RFC 8785 JSON of an object; malformed keys and signatures did not. */
const isSigned = async (
  publicKey: string,
  signature: string,
  signed: Readonly<Record<string, string>>,
): Promise<boolean> => {
  const { ed25519, canonicalJson } = await loadSignatures();
  const [key, bytes] = [base64Bytes(publicKey), base64Bytes(signature)];
  if (key?.length !== 32 || bytes?.length !== 64) return false;
  return ed25519.verify(bytes, new TextEncoder().encode(canonicalJson(signed)), key, {
    zip215: false,
  });
};

const base64Bytes = (text: string): Uint8Array | null => {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return null;
  }
};

const saysOf = ({
  coinType,
  chainId,
  first,
  last,
  opening,
  trust,
  roots,
}: Manifest): readonly Said[] => [
  { name: "Token", id: coinType },
  { name: "Network", id: chainId },
  { name: "From", text: `checkpoint ${first.checkpoint}` },
  { name: "To", text: `checkpoint ${last.checkpoint}` },
  {
    name: "First register",
    text: opening === "proven" ? "with the checkpoints it came from" : "as it was signed",
  },
  { name: "Validators from", text: `epoch ${trust.epoch}` },
  ...(trust.digest === null ? [] : [{ name: "Named by", id: trust.digest }]),
  { name: "First root", id: roots.first.root },
  { name: "Last root", id: roots.last.root },
];
