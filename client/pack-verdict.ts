/** Verdicts on an audit pack, in the same words wherever it is checked. */
import type { AuditPackError, TierName } from "./pack-error.ts";
import type { ActLine, PackManifest } from "./pack-forms.ts";

export type Tier = {
  /** Null: neither proven nor refuted. */
  readonly holds: boolean | null;
  /** The evidence, in words. */
  readonly by: readonly string[];
  /** The open questions, in words. */
  readonly not_shown: readonly string[];
};

/**
 * `authentic`: signed by the known key over these bytes; `consistent`: tables, movements and report
 * follow from the facts; `complete`: nothing in the range is missing.
 */
export type Verdict = Readonly<Record<TierName, Tier>>;

export const TIERS: Readonly<Record<TierName, string>> = {
  authentic: "signed by this key, over these bytes",
  consistent: "tables, movements and report follow from the facts",
  complete: "nothing of the range is missing",
};

const NAMES: readonly TierName[] = ["authentic", "consistent", "complete"];

/** The verdict on a rejected pack: tiers after the false one were not reached. */
export const failedVerdict = ({
  tier,
  message,
}: Pick<AuditPackError, "tier" | "message">): Verdict => {
  const open: Tier = { holds: null, by: [], not_shown: ["not looked at: something is false"] };
  const wrong: Tier = { holds: false, by: [message], not_shown: [] };
  return { authentic: open, consistent: open, complete: open, [tier]: wrong };
};

export const verdictLines = (verdict: Verdict): readonly string[] =>
  NAMES.flatMap((name) => {
    const { holds, by, not_shown } = verdict[name];
    return [
      `${name} (${TIERS[name]}): ${holds === null ? "not shown" : holds ? "holds" : "is false"}`,
      ...by.map((what) => `  by: ${what}`),
      ...not_shown.map((what) => `  not shown: ${what}`),
    ];
  });

/** The required tiers that are neither proven nor refuted. */
export const unshown = (verdict: Verdict, required: readonly TierName[]): readonly TierName[] =>
  required.filter((name) => verdict[name].holds === null);

/** Authenticity of a manifest whose files were hashed; `publicKey` is the known key, if any. */
export const authenticity = (
  { publicKey: own, chainId, holderNames, files }: PackManifest,
  publicKey: string | undefined,
): Tier => ({
  holds: publicKey === undefined ? null : true,
  by: [
    publicKey === undefined
      ? `the manifest is signed with ${own}, the key that it names itself`
      : "the manifest is signed with the key given",
    "both registers' roots are signed with the same key",
    `${Object.keys(files).length} files have the SHA-256 and size of the manifest, and there is no other`,
  ],
  not_shown: [
    ...(publicKey === undefined
      ? [
          "whose key that is: anybody can sign with a key of their own. Give the issuer's key, obtained independently of the pack",
        ]
      : []),
    `the chain's id, ${chainId}: it stands as signed`,
    ...(holderNames === null
      ? []
      : ["what the issuer's file of holders' names says: only its hash is here"]),
  ],
});

/** Open questions about operators' acts, by tier; none if the pack lists no acts (null). */
export const actsOpen = (
  count: number | null,
): Readonly<Record<"consistent" | "complete", readonly string[]>> =>
  count === null
    ? { consistent: [], complete: [] }
    : {
        consistent:
          count === 0
            ? []
            : [
                count === 1
                  ? "the act in acts.ndjson: no fact of the ledger shows it, and it stands as the deployment signed it"
                  : `the ${count} acts in acts.ndjson: no fact of the ledger shows an act, and they stand as the deployment signed them`,
              ],
        complete: [
          "that acts.ndjson has every act on the token and on the whole deployment: acts on others are withheld, so a gap in its numbers shows nothing",
        ],
      };

/** Whether an operator's act corrected published roots of the pack's token. */
export const isCorrection = ({ scope, details }: Pick<ActLine, "scope" | "details">): boolean =>
  scope === "coin" && typeof details.correction === "string";

/** Whether an operator's act left a fact out of the token's register. */
export const isLeavingOut = ({ command, scope }: Pick<ActLine, "command" | "scope">): boolean =>
  scope === "coin" && command === "quarantine resolve";

/** The facts that are left out of the register, by whom, and why. Empty for most. */
export const leftOutOpen = (acts: readonly ActLine[]): readonly string[] =>
  acts
    .filter(isLeavingOut)
    .map(
      ({ number, details: { pipeline, kind, type, checkpoint, digest, by, because } }) =>
        `that the ${kind} ${type} of checkpoint ${checkpoint}, transaction ${digest}, may be left out of ${pipeline}: the register lacks it, by ${by}: ${because}. Act ${number} says so`,
    );

/** What the pack itself says of corrected roots: which, by whom, and why. Empty for most. */
export const correctionsOpen = (acts: readonly ActLine[]): readonly string[] =>
  acts
    .filter(isCorrection)
    .map(
      ({ number, details: { correction, checkpoints, by, why } }) =>
        `that published roots of the token were wrong: the deployment corrected those of checkpoints ${checkpoints}, by ${by}: ${why}. Act ${number} says so, and entry ${correction} of the sequence has the former and the corrected roots`,
    );

export const rangeText = ({
  coinType,
  first,
  last,
}: {
  readonly coinType: string;
  readonly first: { readonly checkpoint: string | bigint };
  readonly last: { readonly checkpoint: string | bigint };
}): string => `${coinType}, checkpoints ${first.checkpoint} to ${last.checkpoint}`;
