/**
 * Corrections of published roots: entries of the sequence that name roots which do not hold any more, by whose word,
 * and why. The former root stays in the sequence; from the correction on, only the corrected one binds.
 */
import { canonicalJson, type JsonValue } from "./canonical-json.ts";
import {
  amount,
  chainId,
  exactly,
  hash,
  isFormed,
  isPlain,
  listOf,
  membersOf,
  nullOr,
  oneOf,
  plainText,
  type TypeOf,
  type,
} from "./forms.ts";

/** Roots that one entry corrects at most: an operator's act can name the checkpoints of all. */
export const MOST_CORRECTED = 50;

type Body = { readonly [name: string]: JsonValue };

/** Of any source: the kind may be unknown. */
type Entry = {
  readonly number: string;
  readonly kind: string;
  readonly body: Body;
  readonly at: string;
};

const VALUE = membersOf({ root: hash, total: amount });

const CORRECTED = membersOf({
  version: oneOf("1", "2"),
  checkpoint: amount,
  /** The root that held before, and the one that holds instead; all else of it stays. */
  from: VALUE,
  to: VALUE,
});

const BODY = membersOf({
  of: exactly("root"),
  chainId: nullOr(chainId),
  coinType: type,
  roots: listOf(CORRECTED, MOST_CORRECTED),
  by: plainText(200),
  why: plainText(1_000),
});

export type CorrectionBody = TypeOf<typeof BODY>;

export type CorrectedRoot = TypeOf<typeof CORRECTED>;

/** One corrected root, with the entry that says so. */
export type RootCorrection = CorrectedRoot &
  Pick<Entry, "number" | "at"> &
  Pick<CorrectionBody, "coinType" | "by" | "why"> & {
    /** Whether the entries given show that the former root was published. */
    readonly isPublished: boolean;
  };

export const correctsRoots = ({ kind, body }: Pick<Entry, "kind" | "body">): boolean =>
  kind === "correction" && body.of === "root";

/** The body of such an entry; undefined for any other. */
export const correctionIn = (body: unknown): CorrectionBody | undefined =>
  isFormed<CorrectionBody>(body, BODY(body, "body")) ? body : undefined;

/** Faults in the form of such an entry's body. */
export const correctionFaults = (body: Body): readonly string[] => {
  const faults = BODY(body, "body");
  if (!isFormed<CorrectionBody>(body, faults)) return faults;
  const each = new Set(body.roots.map(({ version, checkpoint }) => `${version} ${checkpoint}`));
  return [
    ...(each.size < body.roots.length ? ["body.roots names one twice"] : []),
    ...(body.roots.length === 0 ? ["body.roots names none"] : []),
    ...body.roots.flatMap(({ from, to }, at) =>
      canonicalJson(from) === canonicalJson(to) ? [`body.roots[${at}] changes nothing`] : [],
    ),
  ];
};

type RootKey = {
  readonly coinType: string;
  readonly version: string;
  readonly checkpoint: string;
};

/** What entries say of one root. */
export type RootSaid = {
  /** Entry that says so. */
  readonly number: string;
  readonly root: string;
  readonly total: string;
  /** Undefined: only corrections of it are known. */
  readonly body: Body | undefined;
  /** In the order of their numbers. */
  readonly corrections: readonly RootCorrection[];
};

const keyOf = ({ coinType, version, checkpoint }: RootKey) =>
  canonicalJson([coinType, version, checkpoint]);

/** Only `chainId` may differ. */
const textOf = ({ chainId: _, ...rest }: Body) => canonicalJson(rest);

/** What entries say of roots, in the order of their numbers. */
export class RootsSaid {
  readonly #said = new Map<string, RootSaid>();
  /** The next number, as long as none is missing. */
  #next: bigint | undefined = 0n;
  #hasEarlier = true;

  of(key: RootKey): RootSaid | undefined {
    return this.#said.get(keyOf(key));
  }

  /** Every correction, by the number of its entry. */
  corrections(): readonly RootCorrection[] {
    return [...this.#said.values()]
      .flatMap(({ corrections }) => corrections)
      .sort((a, b) => Number(BigInt(a.number) - BigInt(b.number)));
  }

  /**
   * @param isWhole everything said before of the roots that it is about was added, even without an entry
   * @returns how a well-formed entry contradicts the ones before; null if it does not
   */
  add(entry: Entry, { isWhole = false }: { readonly isWhole?: boolean } = {}): string | null {
    const { number, kind, body } = entry;
    const isNext = isWhole || this.#next === BigInt(number);
    this.#next = isNext ? BigInt(number) + 1n : undefined;
    // Roots of version 1 from before the sequence have no entry: number 0 says how many there are.
    if (number === "0" && isPlain(body.roots)) this.#hasEarlier = body.roots.count !== "0";
    if (kind === "root") return this.#publish(number, body);
    const correction = correctsRoots(entry) ? correctionIn(body) : undefined;
    for (const root of correction?.roots ?? []) {
      const what = correction && this.#correct(entry, correction, root, isWhole);
      if (what) return what;
    }
    return null;
  }

  #publish(number: string, body: Body): string | null {
    const { coinType, version, checkpoint, root, total } = body;
    const key = canonicalJson([coinType ?? null, version ?? null, checkpoint ?? null]);
    const known = this.#said.get(key);
    const isSame =
      known?.body === undefined
        ? known === undefined || (root === known.root && total === known.total)
        : textOf(known.body) === textOf(body);
    if (!isSame) {
      return `says something else of checkpoint ${checkpoint} than entry ${known?.number}${known?.corrections.length === 0 ? "" : ", which corrects it"}`;
    }
    this.#said.set(key, {
      ...{ number: known?.number ?? number, root: `${root}`, total: `${total}`, body },
      corrections: known?.corrections ?? [],
    });
    return null;
  }

  #correct(
    { number, at }: Entry,
    { coinType, by, why }: CorrectionBody,
    corrected: CorrectedRoot,
    isWhole: boolean,
  ): string | null {
    const { version, checkpoint, from, to } = corrected;
    const known = this.of({ coinType, version, checkpoint });
    const of = `root of version ${version} at checkpoint ${checkpoint}`;
    const isAllKnown = isWhole || !(version === "1" && this.#hasEarlier);
    if (known === undefined && this.#next !== undefined && isAllKnown) {
      return `corrects a ${of}, but no entry before it publishes one`;
    }
    if (known !== undefined && (known.root !== from.root || known.total !== from.total)) {
      return `corrects the ${of} from ${from.root} with the total ${from.total}, but entry ${known.number} says ${known.root} and ${known.total}`;
    }
    const isPublished = known !== undefined && (known.corrections.at(-1)?.isPublished ?? true);
    this.#said.set(keyOf({ coinType, version, checkpoint }), {
      ...{ number, ...to },
      body: known?.body && { ...known.body, ...to },
      corrections: [
        ...(known?.corrections ?? []),
        { ...corrected, number, at, coinType, by, why, isPublished },
      ],
    });
    return null;
  }
}

type Stated = {
  readonly version: number;
  readonly coinType: string;
  readonly checkpoint: string;
};

/** Whether a correction is of the token and checkpoint of a statement. */
export const isAbout =
  ({ coinType, checkpoint }: Stated) =>
  (one: RootCorrection): boolean =>
    one.coinType === coinType && one.checkpoint === checkpoint;

/**
 * What a correction leaves open of a statement that `verifyStatement` accepts. Both versions are roots of one cap table:
 * where only the other version's root was corrected, this one is in doubt. Empty for most statements.
 * @param corrections from `verifySequence`
 */
export const correctedBeside = (
  statement: Stated,
  corrections: readonly RootCorrection[],
): readonly string[] => {
  const about = corrections.filter(isAbout(statement));
  if (about.some(({ version }) => version === `${statement.version}`)) return [];
  return about.map(
    (one) =>
      `that the root of version ${statement.version} holds, where only the other version's was corrected: ${correctionText(one)}`,
  );
};

/** A correction in words, for a person. */
export const correctionText = (correction: RootCorrection): string => {
  const { number, at, version, checkpoint, from, to, by, why, isPublished } = correction;
  return `entry ${number}, dated ${at}, corrects the published root of version ${version} at checkpoint ${checkpoint}: from ${from.root} with the total ${from.total} to ${to.root} with the total ${to.total}, by ${by}: ${why}${isPublished ? "" : ". No entry here shows that the former root was published"}`;
};
