/** Checks an audit pack with the client's own code, and shows what that says and what it does not. */

import type {
  AuditPackError,
  Verdict,
  VerifiedPack,
} from "../../../../../client/verify-audit-pack.ts";
import { loadPacks } from "./client.ts";
import type { Files } from "./dropped.ts";
import { type Report, type Said, type Step, UncheckableError } from "./report.ts";

/** Told while files are hashed: how many of how many. */
export type Progress = (done: number, of: number) => void;

/** What the beginning of a manifest is searched for. */
const LOOKED_AT = 2 ** 24;

/** @throws UncheckableError when there is no manifest of an audit pack */
export const checkPack = async (files: Files, told: Progress): Promise<Report> => {
  const manifest = await files.get("manifest.json")?.slice(0, LOOKED_AT).text();
  if (!manifest?.includes('"holderbook-audit-pack"')) {
    throw new UncheckableError("There is no manifest.json of an audit pack in it.");
  }
  if (globalThis.crypto?.subtle === undefined) {
    throw new UncheckableError(
      "This browser computes no hashes for pages that came over plain http. Open the page over https, or at localhost.",
    );
  }
  const { verifyAuditPack, failedVerdict, TIERS } = await loadPacks();
  const report = { kind: "audit pack", verdict: "Nothing that was checked here is false" } as const;
  try {
    const pack = await verifyAuditPack(files, { told });
    const { coinType, first, last, publicKey } = pack;
    const token = coinType.split("::").at(-1) ?? coinType;
    return {
      ...report,
      title: `${token} from checkpoint ${first.checkpoint} to ${last.checkpoint}`,
      steps: stepsOf(pack.verdict, TIERS),
      says: saysOf(pack),
      publicKey,
      root: { coinType, checkpoint: `${last.checkpoint}`, root: last.root },
      open: pack.unchecked,
    };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const steps = stepsOf(failedVerdict(error), TIERS).map((step): Step => {
      if (step.result !== "fails") return { ...step, result: "skipped" };
      return { ...step, details: error.failures.map(({ file, what }) => `${file}: ${what}`) };
    });
    // Nothing of a pack that was refused is shown.
    return { ...report, title: "", steps, says: [], publicKey: null, root: null, open: [] };
  }
};

/** The class is that of a part of the page that came later. */
const isRefusal = (error: unknown): error is AuditPackError =>
  error instanceof Error && error.name === "AuditPackError";

const RESULTS = new Map([
  [true, "holds"],
  [false, "fails"],
  [null, "open"],
] as const);

const stepsOf = (verdict: Verdict, means: Readonly<Record<keyof Verdict, string>>): Step[] =>
  (["authentic", "consistent", "complete"] as const).map((name) => ({
    title: `${name[0]?.toUpperCase()}${name.slice(1)}: ${means[name]}`,
    result: RESULTS.get(verdict[name].holds) ?? "fails",
    details: verdict[name].by,
  }));

const saysOf = ({
  coinType,
  chainId,
  first,
  last,
  opening,
  trust,
}: VerifiedPack): readonly Said[] => [
  { name: "Token", id: coinType },
  { name: "Network, as signed", id: chainId },
  { name: "From", text: `checkpoint ${first.checkpoint}` },
  { name: "To", text: `checkpoint ${last.checkpoint}` },
  { name: "First register", text: OPENINGS[opening] },
  { name: "Validators from", text: `epoch ${trust.epoch}` },
  ...(trust.digest === null ? [] : [{ name: "Named by", id: trust.digest }]),
  { name: "First root", id: first.root },
  { name: "Last root", id: last.root },
];

const OPENINGS: Readonly<Record<VerifiedPack["opening"], string>> = {
  whole: "with all that the token ever did",
  proven: "with the checkpoints it came from",
  signed: "as it was signed",
};
