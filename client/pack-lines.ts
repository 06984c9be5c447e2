/** Checks the form of every NDJSON line, and that the lines lead from one register to the other. */
import { canonicalJson } from "./canonical-json.ts";
import { isFormed } from "./forms.ts";
import { type Failure, fail, stopAt } from "./pack-error.ts";
import { isCanonical, linesOf, type PackFiles, parsed } from "./pack-files.ts";
import {
  type ActLine,
  FILES,
  type HolderEventLine,
  type LineOf,
  lineFaults,
  type MovementLine,
  type PackManifest,
  TABLES,
} from "./pack-forms.ts";
import type { Register, Wallets } from "./pack-tables.ts";
import { isCorrection, isLeavingOut } from "./pack-verdict.ts";
import { hexOf, utf8 } from "./sum-tree.ts";

/** Limit in characters: the largest object in base64, with its frame. */
export const LONGEST_LINE = 2 ** 19;

/** A position is its checkpoint, then nine digits for transaction and event. */
const POSITIONS = 1_000_000_000n;

/** The lines of a file, well-formed and canonical. @throws AuditPackError */
export async function* jsonLines<Path extends keyof LineOf>(
  pack: PackFiles,
  path: Path,
  signal?: AbortSignal,
): AsyncGenerator<LineOf[Path], void> {
  let at = 0;
  for await (const line of linesOf(pack, path, LONGEST_LINE)) {
    signal?.throwIfAborted();
    at += 1;
    const place = `line ${at} `;
    const json = parsed(path, line, place);
    const faults = lineFaults(path, json);
    if (!isFormed<LineOf[Path]>(json, faults)) {
      return fail(path, `${place}is of no known form: ${faults[0]}`);
    }
    if (!isCanonical(json, line)) fail(path, `${place}is not in RFC 8785 form`);
    yield json;
  }
}

const inOrder = (path: string, { first, last }: PackManifest) => {
  let before = 0n;
  return ({ position }: { readonly position: string }, at: number) => {
    const checkpoint = BigInt(position) / POSITIONS;
    if (checkpoint <= BigInt(first.checkpoint) || checkpoint > BigInt(last.checkpoint)) {
      fail(path, `line ${at} is of checkpoint ${checkpoint}, which is not between the registers`);
    }
    if (BigInt(position) < before) fail(path, `line ${at} stands out of its order`);
    before = BigInt(position);
  };
};

/**
 * Checks all lines against their form, and both registers against the wallet states in the lines.
 * @returns line counts (acts: null before version 3), acts that corrected roots, and sums of the movements
 */
export const linesIn = async (
  pack: PackFiles,
  manifest: PackManifest,
  { first, last }: { readonly first: Register; readonly last: Register },
  signal?: AbortSignal,
) => {
  const count = async <Path extends keyof LineOf>(
    path: Path,
    each: (line: LineOf[Path], at: number) => void,
  ) => {
    let at = 0;
    for await (const line of jsonLines(pack, path, signal)) {
      at += 1;
      each(line, at);
    }
    return at;
  };
  const wallets = new WalletStates();
  await count(FILES.firstState, (line) => {
    if (line.kind === "membership") wallets.set(line.address, line.aspect, line.value);
  });
  wallets.check(TABLES.first, first.wallets);
  const moved: Moved = new Map();
  const placeMovement = inOrder(FILES.movements, manifest);
  const movements = await count(FILES.movements, (line, at) => {
    placeMovement(line, at);
    move(moved, line, at);
  });
  const placeHolderEvent = inOrder(FILES.holderEvents, manifest);
  const holderEvents = await count(FILES.holderEvents, (line, at) => {
    placeHolderEvent(line, at);
    wallets.apply(line);
  });
  wallets.check(TABLES.last, last.wallets);
  await count(FILES.roleEvents, inOrder(FILES.roleEvents, manifest));
  const [corrections, leavingOut]: [ActLine[], ActLine[]] = [[], []];
  const placeAct = actsInOrder(manifest);
  const acts =
    manifest.version < 3
      ? null
      : await count(FILES.acts, (act, at) => {
          placeAct(act, at);
          if (isCorrection(act)) corrections.push(act);
          if (isLeavingOut(act)) leavingOut.push(act);
        });
  return { movements, holderEvents, acts, corrections, leavingOut, moved };
};

/** By wallet and part: the balance before its first and after its last movement. */
type Moved = Map<string, { readonly first: bigint; readonly last: bigint }>;

const move = (moved: Moved, { owner, part, change, balanceAfter }: MovementLine, at: number) => {
  const key = `${owner} ${part}`;
  const after = BigInt(balanceAfter);
  const before = after - BigInt(change);
  const known = moved.get(key);
  if (before < 0n) fail(FILES.movements, `line ${at} takes more than there was`);
  if (known !== undefined && known.last !== before) {
    fail(
      FILES.movements,
      `line ${at} follows a balance of ${before}; the line before it left ${known.last}`,
    );
  }
  moved.set(key, { first: known?.first ?? before, last: after });
};

export const checkMovements = (moved: Moved, first: Wallets, last: Wallets): void => {
  const failures: Failure[] = [];
  const wallets = new Set([...first.keys(), ...last.keys()]);
  for (const key of moved.keys()) wallets.add(key.slice(0, key.indexOf(" ")));
  for (const wallet of wallets) {
    const had = first.get(wallet)?.balance ?? 0n;
    const has = last.get(wallet)?.balance ?? 0n;
    const parts = ["TOKENS", "GRANTS"].map((part) => moved.get(`${wallet} ${part}`));
    const sum = (of: "first" | "last") =>
      parts.reduce((total, part) => total + (part?.[of] ?? 0n), 0n);
    const change = sum("last") - sum("first");
    // Without movements, a part is known only as the remainder.
    const isWhole = parts.every((part) => part !== undefined);
    const fits = isWhole ? sum("first") === had : sum("first") <= had;
    if (had + change === has && fits) continue;
    const what = `${wallet} held ${had}, moved ${change}, and holds ${has}`;
    failures.push({
      file: FILES.movements,
      what: fits ? what : `${what}, but its movements begin with ${sum("first")}`,
    });
  }
  stopAt(failures);
};

type Aspect = "holder" | "group" | "freeze";

/** The wallet's state after an event; null ends it. The newest event decides. */
const CHANGES: Readonly<
  Record<string, (event: HolderEventLine) => readonly [Aspect, string | null]>
> = {
  holder_address_added: ({ holderId }) => ["holder", holderId],
  holder_address_removed: () => ["holder", null],
  address_joined_group: ({ groupId }) => ["group", groupId],
  address_left_group: () => ["group", null],
  address_frozen: ({ isFrozen }) => ["freeze", isFrozen ? "1" : null],
};

/** Each wallet's holder, group and freeze, folded from the lines. */
class WalletStates {
  readonly #states: Readonly<Record<Aspect, Map<string, string>>> = {
    holder: new Map(),
    group: new Map(),
    freeze: new Map(),
  };

  set(address: string, aspect: Aspect, value: string | null): void {
    if (value === null) this.#states[aspect].delete(address);
    else this.#states[aspect].set(address, value);
  }

  apply(event: HolderEventLine): void {
    const change = CHANGES[event.eventType]?.(event);
    if (change !== undefined && event.address !== null) this.set(event.address, ...change);
  }

  /** Stops unless the register's wallets are in these states. */
  check(file: string, wallets: Wallets): void {
    const { holder, group, freeze } = this.#states;
    const failures: Failure[] = [];
    const holders = new Set<string>();
    for (const [address, { holderId, groupId, isFrozen }] of wallets) {
      if (holderId !== null) holders.add(holderId);
      const isSame =
        (holder.get(address) ?? null) === holderId &&
        (group.get(address) ?? null) === groupId &&
        freeze.has(address) === isFrozen;
      if (!isSame) {
        const what = `${address} has another holder, group or freeze than the lines of the pack say`;
        failures.push({ file, what });
      }
    }
    for (const [address, holderId] of holder) {
      if (holders.has(holderId) && !wallets.has(address)) {
        failures.push({ file, what: `leaves out ${address}, a wallet of holder ${holderId}` });
      }
    }
    stopAt(failures);
  }
}

/** Acts must be on this coin or the whole deployment, unique, and in order. */
const actsInOrder = ({ coinType }: PackManifest) => {
  let before: Pick<ActLine, "number" | "at" | "entry"> = { number: "0", at: "", entry: null };
  return (act: ActLine, at: number) => {
    const wrong = (what: string) => fail(FILES.acts, `line ${at} ${what}`);
    if (act.coinType !== (act.scope === "coin" ? coinType : null)) {
      wrong("is neither on the pack's coin nor on the whole deployment");
    }
    if (isCorrection(act)) {
      for (const name of ["by", "why", "checkpoints"]) {
        if (typeof act.details[name] !== "string") wrong(`corrects roots, and has no ${name}`);
      }
    }
    if (BigInt(act.number) <= BigInt(before.number)) wrong("stands out of its order");
    if (act.at < before.at) wrong(`is dated ${act.at}, before the line above it`);
    // Acts are published in order, and a pack's acts before the pack.
    if (act.entry !== null && before.entry !== null && BigInt(act.entry) <= BigInt(before.entry)) {
      wrong(`names entry ${act.entry}, and the line above it ${before.entry}`);
    }
    if (at > 1 && act.entry !== null && before.entry === null) {
      wrong("has an entry, and the line above it has none");
    }
    before = act;
  };
};

/** SHA-256 (hex) over the RFC 8785 JSON of all members except `entry`, as published. */
export const actHash = async ({
  entry: _,
  ...act
}: Omit<ActLine, "scope"> & { readonly scope: string }): Promise<string> =>
  hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(canonicalJson(act)))));
