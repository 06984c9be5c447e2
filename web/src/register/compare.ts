/** Two registers of one token compared: who came, who left, who grew, who fell. */
import { type Register, type Row, rowId } from "./register.ts";

export type ChangeKind = "came" | "left" | "grew" | "fell";

export type Difference = {
  /** Holder's number, or the address of a wallet without a holder. */
  readonly id: string;
  readonly holderId: string | null;
  readonly kind: ChangeKind;
  readonly before: bigint;
  readonly after: bigint;
  /** `after` minus `before`. */
  readonly change: bigint;
};

export type Comparison = {
  /** Largest change first, whichever its sign; whose balance stayed has none. */
  readonly differences: readonly Difference[];
  readonly unchanged: number;
  /** Sums of the changes of each kind; together they are the change of what is issued. */
  readonly sums: Readonly<Record<ChangeKind, { readonly count: number; readonly change: bigint }>>;
};

const size = (amount: bigint): bigint => (amount < 0n ? -amount : amount);

const kindOf = (before: bigint, after: bigint): ChangeKind => {
  if (before === 0n) return "came";
  if (after === 0n) return "left";
  return after > before ? "grew" : "fell";
};

/** Compares by holder: a wallet that was given to a holder meanwhile left as itself and came with the holder. */
export const compareRegisters = (
  earlier: Pick<Register, "rows">,
  later: Pick<Register, "rows">,
): Comparison => {
  const before = new Map(earlier.rows.map((row) => [rowId(row), row]));
  const after = new Map(later.rows.map((row) => [rowId(row), row]));
  const sums = {
    came: { count: 0, change: 0n },
    left: { count: 0, change: 0n },
    grew: { count: 0, change: 0n },
    fell: { count: 0, change: 0n },
  };
  const differences: Difference[] = [];
  let unchanged = 0;
  for (const id of new Set([...before.keys(), ...after.keys()])) {
    const held = (row: Row | undefined) => row?.balance ?? 0n;
    const [then, now] = [held(before.get(id)), held(after.get(id))];
    if (then === now) {
      unchanged += 1;
      continue;
    }
    const kind = kindOf(then, now);
    const holderId = (after.get(id) ?? before.get(id))?.holderId ?? null;
    differences.push({ id, holderId, kind, before: then, after: now, change: now - then });
    sums[kind].count += 1;
    sums[kind].change += now - then;
  }
  differences.sort((a, b) => {
    const [one, other] = [size(a.change), size(b.change)];
    if (one !== other) return one > other ? -1 : 1;
    return a.id < b.id ? -1 : 1;
  });
  return { differences, unchanged, sums };
};
