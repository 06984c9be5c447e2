/** Checks an audit pack with the verifier of `holderbook/client`. */

import type {
  AuditPackError,
  Verdict,
  VerifiedPack,
} from "../../../../../client/verify-audit-pack.ts";
import { loadPacks } from "./client.ts";
import type { Files } from "./dropped.ts";
import { type Entry, type Report, type Step, UncheckableError } from "./report.ts";

/** Called while files are hashed: how many of how many. */
export type Progress = (done: number, of: number) => void;

/** How much of a manifest is searched for its type. */
const SEARCHED_BYTES = 2 ** 24;

/** @throws UncheckableError when there is no manifest of an audit pack */
export const checkPack = async (files: Files, onProgress: Progress): Promise<Report> => {
  const manifest = await files.get("manifest.json")?.slice(0, SEARCHED_BYTES).text();
  if (!manifest?.includes('"holderbook-audit-pack"')) {
    throw new UncheckableError("It has no manifest.json of an audit pack.");
  }
  if (globalThis.crypto?.subtle === undefined) {
    throw new UncheckableError(
      "Browsers compute no hashes on plain http. Open the page over https, or at localhost.",
    );
  }
  const { verifyAuditPack, failedVerdict, TIERS } = await loadPacks();
  const report = { kind: "audit pack", verdict: "No check failed" } as const;
  try {
    const pack = await verifyAuditPack(files, { told: onProgress });
    const { coinType, first, last, publicKey } = pack;
    const token = coinType.split("::").at(-1) ?? coinType;
    return {
      ...report,
      title: `${token} from checkpoint ${first.checkpoint} to ${last.checkpoint}`,
      steps: stepsOf(pack.verdict, TIERS),
      contents: contentsOf(pack),
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
    // A refused pack shows no contents.
    return { ...report, title: "", steps, contents: [], publicKey: null, root: null, open: [] };
  }
};

/** By name: the class is in a chunk that is loaded later. */
const isRefusal = (error: unknown): error is AuditPackError =>
  error instanceof Error && error.name === "AuditPackError";

const RESULTS = new Map([
  [true, "holds"],
  [false, "fails"],
  [null, "open"],
] as const);

/** The page has no library for the validators' signatures, on which the last two steps rest. */
const WITHOUT_SIGNATURES =
  "This page verifies no signatures of validators, and without them anyone could have made the facts. `holderbook audit-pack verify FOLDER --committee-from FILE` verifies them, from a committee file that you know from elsewhere.";

const stepsOf = (verdict: Verdict, means: Readonly<Record<keyof Verdict, string>>): Step[] =>
  (["authentic", "consistent", "complete"] as const).map((name) => ({
    title: `${name[0]?.toUpperCase()}${name.slice(1)}: ${means[name]}`,
    result: RESULTS.get(verdict[name].holds) ?? "fails",
    details:
      name === "complete" && verdict.complete.holds === null
        ? [...verdict.complete.by, WITHOUT_SIGNATURES]
        : verdict[name].by,
  }));

const contentsOf = ({
  coinType,
  chainId,
  first,
  last,
  opening,
  trust,
}: VerifiedPack): readonly Entry[] => [
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
  whole: "with the whole history of the token",
  proven: "with the checkpoints it was made from",
  signed: "as signed",
};
