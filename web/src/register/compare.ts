/** Two registers of one token compared: new, exited, increased and decreased holders. */
import { type Register, type Row, rowId } from "./register.ts";

export type ChangeKind = "new" | "exited" | "increased" | "decreased";

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

type Comparison = {
  /** Largest change first, whichever its sign; without unchanged holders. */
  readonly differences: readonly Difference[];
  readonly unchanged: number;
  /** Sums of each kind; together they are the change of the issued amount. */
  readonly sums: Readonly<Record<ChangeKind, { readonly count: number; readonly change: bigint }>>;
};

const size = (amount: bigint): bigint => (amount < 0n ? -amount : amount);

const kindOf = (before: bigint, after: bigint): ChangeKind => {
  if (before === 0n) return "new";
  if (after === 0n) return "exited";
  return after > before ? "increased" : "decreased";
};

/** Compares by holder: a wallet that got a holder meanwhile exits, and its balance counts for the holder. */
export const compareRegisters = (
  earlier: Pick<Register, "rows">,
  later: Pick<Register, "rows">,
): Comparison => {
  const before = new Map(earlier.rows.map((row) => [rowId(row), row]));
  const after = new Map(later.rows.map((row) => [rowId(row), row]));
  const sums = {
    new: { count: 0, change: 0n },
    exited: { count: 0, change: 0n },
    increased: { count: 0, change: 0n },
    decreased: { count: 0, change: 0n },
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
