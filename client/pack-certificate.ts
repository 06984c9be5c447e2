/**
 * A pack's certificate of completeness, held against the pack's facts. It is the operator's word:
 * facts decide where they can, and where they cannot, the verdict names whose word it is.
 */
import {
  type CompletenessCertificate,
  certificateFaults,
  headsHash,
  isCertificateSigned,
} from "./completeness.ts";
import { isFormed } from "./forms.ts";
import { type Counted, type Later, type LiveObject, PROFILE } from "./pack-chains.ts";
import { type Failure, fail, stopAt } from "./pack-error.ts";
import { type IsSigned, isCanonical, type PackFiles, parsed, textOf } from "./pack-files.ts";
import { FILES, LONGEST_FILE, type PackManifest, TABLES } from "./pack-forms.ts";
import type { Left } from "./pack-heads.ts";
import type { Tier } from "./pack-verdict.ts";

const FILE = FILES.certificate;
const TIER = "complete";

/**
 * The certificate of a signed pack of version 4: well-formed, signed by the pack's key, of its
 * token, chain, packages and last checkpoint.
 * @throws AuditPackError
 */
export const certificateIn = async (
  pack: PackFiles,
  manifest: Omit<PackManifest, "files">,
  isSigned?: IsSigned,
): Promise<CompletenessCertificate> => {
  const text = await textOf(pack, FILE, LONGEST_FILE(FILE), TIER);
  const json = parsed(FILE, text, "", TIER);
  const faults = certificateFaults(json);
  if (!isFormed<CompletenessCertificate>(json, faults)) {
    return fail(FILE, `is no certificate of completeness: ${faults[0]}`, TIER);
  }
  if (!text.endsWith("\n") || !isCanonical(json, text.slice(0, -1))) {
    fail(FILE, "is not in the form that is signed (RFC 8785)", TIER);
  }
  const { last } = manifest;
  const differs = (what: string, own: string, of: string): readonly Failure[] =>
    own === of ? [] : [{ file: FILE, what: `is of the ${what} ${own}, not ${of}, as the pack` }];
  stopAt(
    [
      ...differs("key", json.publicKey, manifest.publicKey),
      ...differs("chain", json.chainId, manifest.chainId),
      ...differs("token", json.coinType, manifest.coinType),
      ...differs("packages", json.packages.join(", "), manifest.packages.join(", ")),
      ...differs("checkpoint", json.through.checkpoint, last.checkpoint),
      ...differs("checkpoint of digest", json.through.digest, last.digest),
    ],
    TIER,
  );
  if (!isCertificateSigned(json, isSigned)) fail(FILE, "is not signed by the key it names", TIER);
  return json;
};

/** What a pack's facts give to compare with. */
export type PackChain = {
  readonly counted: Counted;
  /** At the last register. */
  readonly live: readonly LiveObject[];
  readonly later: Later;
  readonly left: Left;
};

/** The last register, as its file has it. */
export type LastRegister = {
  readonly totalSupply: string | null;
  readonly balances: Iterable<readonly [address: string, balance: bigint]>;
};

/** @throws AuditPackError if the facts contradict the certificate or the last register */
export const compareCertificate = async (
  { chains, closure, conservation, heads, profile }: CompletenessCertificate,
  { counted, live }: PackChain,
  register: LastRegister,
): Promise<void> => {
  const { objects, versions, transactions, checkpoints, supply, fault } = counted;
  const { made, live: left } = counted.treasuries;
  if (made !== 1 || left !== 1) {
    const what = `cannot hold: the pack's facts make ${made} treasuries of the token, and leave ${left}, instead of one`;
    fail(FILE, what, TIER);
  }
  // Another profile's rules are not known here: closure stays open.
  if (fault !== null && profile === PROFILE) fail(FILE, `cannot hold: ${fault}`, TIER);
  const differs = (what: string, said: string, found: number | bigint): readonly Failure[] =>
    said === `${found}`
      ? []
      : [
          {
            file: FILE,
            what: `says that there are ${said} ${what}; the pack's facts give ${found}`,
          },
        ];
  stopAt(
    [
      ...differs("objects", chains.objects, objects),
      ...differs("versions of objects", chains.versions, versions),
      ...differs("live objects", chains.live, live.length),
      ...differs("transactions", closure.transactions, transactions),
      ...differs("checkpoints that change objects", conservation.checkpoints, checkpoints),
      ...differs("units of supply", conservation.supply, supply),
    ],
    TIER,
  );
  if ((await headsHash(live)) !== heads.hash) {
    fail(
      FILE,
      "has the hash of other versions of the live objects than the pack's facts end with",
      TIER,
    );
  }
  compareRegister(counted, register);
};

const compareRegister = (
  { supply, balances }: Counted,
  { totalSupply, balances: registered }: LastRegister,
): void => {
  const file = TABLES.last;
  if (`${supply}` !== totalSupply) {
    fail(file, `has the supply ${totalSupply}; the pack's facts give ${supply}`, TIER);
  }
  const open = new Map(balances);
  for (const [owner, balance] of registered) {
    const held = open.get(owner) ?? 0n;
    open.delete(owner);
    if (held !== balance) {
      fail(file, `has ${balance} of ${owner}; the pack's facts give ${held}`, TIER);
    }
  }
  for (const [owner, held] of open) {
    if (held > 0n) fail(file, `has nothing of ${owner}; the pack's facts give ${held}`, TIER);
  }
};

/** What a pack shows about missing transactions, and what rests on somebody's word. */
export const shownComplete = (
  { profile, packages, bytecode, heads, through, onFaith }: CompletenessCertificate,
  { counted, live, later, left }: PackChain,
): Tier => {
  const { objects, versions, transactions, checkpoints, supply } = counted;
  const isKnown = profile === PROFILE;
  const unnamed = packages.filter((address) => bytecode.every((one) => one.package !== address));
  const words = heads.served.map(
    ({ source, as, at, same, changed }) =>
      `${source} (${as}, asked at ${at}: ${same} the same, ${changed} changed since)`,
  );
  const isShown = later.shown + left.byLast > 0;
  const rest = later.of - later.shown - left.byLast;
  return {
    holds: isKnown && rest === 0 && unnamed.length === 0 ? true : null,
    by: [
      `chains: each of the token's ${objects} objects goes from its creation to its end, or to its last version here, through ${versions} versions without a gap: a transaction left out between two of them would show`,
      ...(isKnown
        ? [
            `closure: each of the ${transactions} transactions does what a function of the profile ${profile} does with the objects that it took, so each transaction of the token stands in the chain of one of these`,
          ]
        : []),
      `conservation: tokens and grants come to the supply of the treasury after each of the ${checkpoints} checkpoints that change objects: ${supply} of the smallest unit at the last`,
      `${FILE}, signed by the key of the pack, counts the same, and names the ${live.length} live objects in these versions`,
      ...(later.shown === 0
        ? []
        : [
            `heads: ${later.shown} of the contract's ${later.of} live objects were next changed in ${later.checkpoints} later checkpoints, which found them in this very version: nothing touched them between`,
          ]),
      ...(left.shown === 0
        ? []
        : [
            `object sets: ${left.shown} of the token's ${left.of} live objects were left in this very version by their checkpoints, as the summaries of ${left.checkpoints} of these commit to: no transaction on them was cut out there${left.byLast === 0 ? "" : `. For ${left.byLast}, which no later checkpoint shows, that is the last checkpoint`}`,
          ]),
    ],
    not_shown: [
      ...(rest === 0
        ? []
        : [
            `that nothing up to checkpoint ${through.checkpoint} touched ${isShown ? "the other " : ""}${rest} live objects after their last version here: ${words.length === 0 ? "no node was asked, so it is the word of the deployment alone" : `it is the word of ${words.join(" and ")}, as the deployment signed it`}. --source reads the checkpoints again`,
          ]),
      ...(left.uncommitted === 0
        ? []
        : [
            `that nothing touched ${left.uncommitted} of these later in the very checkpoint that left them so: its summary predates protocol 125 and commits to no objects`,
          ]),
      ...(isKnown
        ? [
            `that the contract's code is that of the profile ${profile}: compare the bytecode that ${FILE} names, ${bytecode.map(({ package: of, hash }) => `${hash} of ${of}`).join(", ") || "which is none"}`,
          ]
        : [`the rules of the profile ${profile}, which are not known here`]),
      ...unnamed.map(
        (address) =>
          `that the profile holds for package ${address}: ${FILE} names no bytecode of it`,
      ),
      `that the contract was upgraded to no package but the ${packages.length} of the pack: nothing here shows an upgrade that was hidden; the deployment says so`,
      ...onFaith.map((what) => `as ${FILE} says, it rests on somebody's word: ${what}`),
    ],
  };
};
