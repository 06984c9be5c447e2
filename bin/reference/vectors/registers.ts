/**
 * `docs/reference/vectors/register.json`: registers folded from facts, movements with causes, and
 * unlocking.
 */
import { z } from "zod";
import { canonicalJson } from "../../../client/canonical-json.ts";
import { holderEventLine, movementLine, roleEventLine } from "../../../src/evidence/pack/lines.ts";
import { PackRegister } from "../../../src/evidence/pack/register.ts";
import { SHARED_TOKEN, TIMELOCK } from "../../../src/ledger/contract/names.ts";
import { claimableAt } from "../../../src/projections/unlocking.ts";
import {
  ACME,
  address,
  addressAdded,
  burned,
  forceTransferred,
  frozen,
  grant,
  holderAddedTo,
  joinedGroup,
  leftGroup,
  minted,
  PACKAGE,
  removed,
  roleChanged,
  type Said,
  SIGNER,
  token,
  transferred,
} from "../../../test/pipelines/token-facts.ts";
import { fact, factJson, factsOf } from "./facts.ts";
import { type Case, type Input, type Judge, judged, vectorFile, verdictIf } from "./vector.ts";

const ABOUT =
  "What the facts of one coin, from its first one on, make of its register. `movements`, `holderEvents` and `roleEvents` are claimed to be the lines of a pack's files, `rows` those of a cap table whose checkpoint has the time `timestampMs`, without `share`. `unlocked` of a grant is claimed for a time.";

const number = z.string().transform(BigInt);
const made = {
  movements: z.array(z.json()),
  holderEvents: z.array(z.json()),
  roleEvents: z.array(z.json()),
  rows: z.array(z.json()),
};
const facts = z.strictObject({ coinType: z.string(), timestampMs: number, facts: z.array(fact) });

const json = (value: object): object =>
  JSON.parse(
    JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? `${one}` : one)),
  );

const madeOf = ({ coinType, timestampMs, facts: all }: z.infer<typeof facts>) => {
  const register = new PackRegister(coinType);
  const { movements, holderEvents, roleEvents } = register.apply(all);
  const mark = { sequence: all.at(-1)?.checkpoint ?? 0n, digest: "", timestampMs };
  return {
    movements: movements.map((row) => JSON.parse(movementLine(row))),
    holderEvents: holderEvents.map((row) => JSON.parse(holderEventLine(row))),
    roleEvents: roleEvents.map((row) => JSON.parse(roleEventLine(row))),
    rows: json([...register.table(mark, null).rows]),
  };
};

export const judgeRegister: Judge = (given) => {
  const claimed = z.strictObject({ ...facts.shape, ...made }).parse(given);
  const is = z.strictObject(made).parse(madeOf(claimed));
  for (const name of ["movements", "holderEvents", "roleEvents", "rows"] as const) {
    const [claim, own] = [canonicalJson(claimed[name]), canonicalJson(is[name])];
    if (claim !== own) return { ok: false, error: `${name} are ${own}` };
  }
  return { ok: true };
};

const terms = z.strictObject({
  releaseCount: number,
  delayUntilFirstReleaseMs: number,
  periodBetweenReleasesMs: number,
  initialReleasePortionBps: number,
  commencementTimestampMs: number,
  totalAmount: number,
  tokensTransferred: number,
  leftBalance: number,
});

export const judgeUnlocked: Judge = (given) => {
  const {
    grant: one,
    timestampMs,
    unlocked,
  } = z.strictObject({ grant: terms, timestampMs: number, unlocked: number }).parse(given);
  const parties = { coinType: ACME, owner: SIGNER, funder: SIGNER, releaseScheduleId: 0n };
  const is = claimableAt({ ...parties, ...one }, timestampMs);
  return verdictIf(is === unlocked, `${is} are unlocked`);
};

const ALICE = address("a11ce");
const BOB = address("b0b");
const CAROL = address("ca401");
const ID = (digits: string) => address(`1d${digits}`);

/** Checkpoints from 1 with these transactions; the code computes the claims. */
const registerOf = (
  ...checkpoints: readonly (readonly (readonly Said[])[])[]
): Input & { readonly facts: readonly Input[] } => {
  const all = factsOf(
    checkpoints.map((transactions, at) => ({ sequence: BigInt(at + 1), transactions })),
  );
  const given = { coinType: ACME, timestampMs: (all.at(-1)?.timestampMs ?? 0n) + 86_400_000n };
  const claims = madeOf({ ...given, facts: [...all] });
  return JSON.parse(
    JSON.stringify({
      ...given,
      timestampMs: `${given.timestampMs}`,
      facts: all.map(factJson),
      ...claims,
    }),
  );
};

const tokenOf = (owner: string, balance: bigint, id = ID("1")) => token({ id, owner, balance });
const mintTo = (to: string, amount: bigint, id = ID("1")) => [
  minted({ tokenId: id, to, amount }),
  tokenOf(to, amount, id),
];
/** A grant of 1,000 from Alice to Bob, with this much left and claimed. */
const grantOf = (leftBalance: bigint, tokensTransferred = 0n, owner = BOB) =>
  grant({ id: ID("9"), owner, funder: ALICE, leftBalance, tokensTransferred });
const FUNDED = [mintTo(ALICE, 1_500n), [tokenOf(ALICE, 500n), grantOf(1_000n)]] as const;

const REGISTERS: Readonly<Record<string, ReturnType<typeof registerOf>>> = {
  "a mint, and a part of it transferred": registerOf([
    mintTo(ALICE, 100n),
    [
      transferred({ tokenId: ID("1"), from: ALICE, to: BOB, amount: 30n }),
      tokenOf(ALICE, 70n),
      tokenOf(BOB, 30n, ID("2")),
    ],
  ]),
  "an object of another owner, by force": registerOf([
    mintTo(ALICE, 100n),
    [
      forceTransferred({ tokenId: ID("1"), from: ALICE, to: BOB, amount: 100n }),
      tokenOf(BOB, 100n),
    ],
  ]),
  "a burn of the rest": registerOf([
    mintTo(ALICE, 100n),
    [burned({ tokenId: ID("1"), from: ALICE, amount: 100n }), removed(SHARED_TOKEN, ID("1"))],
  ]),
  "two objects of one owner joined, which moves nothing": registerOf([
    mintTo(ALICE, 100n),
    mintTo(ALICE, 50n, ID("2")),
    [tokenOf(ALICE, 150n), removed(SHARED_TOKEN, ID("2"))],
  ]),
  "of two causes of one amount the first in the list": registerOf([
    mintTo(ALICE, 100n),
    [
      transferred({ tokenId: ID("1"), from: ALICE, to: BOB, amount: 100n }),
      minted({ tokenId: ID("2"), to: BOB, amount: 100n }),
      tokenOf(BOB, 100n),
      tokenOf(BOB, 100n, ID("2")),
    ],
  ]),
  "tokens that only pass through a wallet": registerOf([
    mintTo(ALICE, 100n),
    [
      transferred({ tokenId: ID("1"), from: ALICE, to: BOB, amount: 100n }),
      transferred({ tokenId: ID("1"), from: BOB, to: CAROL, amount: 100n }),
      tokenOf(CAROL, 100n),
    ],
  ]),
  "what passes through counts for the cause of what stays": registerOf([
    mintTo(ALICE, 100n),
    [
      transferred({ tokenId: ID("1"), from: ALICE, to: BOB, amount: 100n }),
      minted({ tokenId: ID("1"), to: BOB, amount: 5n }),
      transferred({ tokenId: ID("1"), from: BOB, to: CAROL, amount: 100n }),
      tokenOf(CAROL, 100n),
      tokenOf(BOB, 5n, ID("2")),
    ],
  ]),
  "a change that nothing explains": registerOf([mintTo(ALICE, 100n), [tokenOf(ALICE, 120n)]]),
  "more than an event explains": registerOf([
    mintTo(ALICE, 100n),
    [minted({ tokenId: ID("1"), to: ALICE, amount: 10n }), tokenOf(ALICE, 180n)],
  ]),
  "a grant funded": registerOf(FUNDED),
  "a grant claimed in part": registerOf(FUNDED, [
    [grantOf(700n, 300n), tokenOf(BOB, 300n, ID("2"))],
  ]),
  "a grant cancelled in part, for a third wallet": registerOf(FUNDED, [
    [grantOf(400n), tokenOf(CAROL, 600n, ID("2"))],
  ]),
  "a grant claimed and cancelled at once": registerOf(FUNDED, [
    [grantOf(100n, 300n), tokenOf(BOB, 300n, ID("2")), tokenOf(ALICE, 1_100n)],
  ]),
  "a grant removed with what it held": registerOf(FUNDED, [
    [tokenOf(CAROL, 1_000n, ID("2")), removed(TIMELOCK, ID("9"))],
  ]),
  "of two wallets that hold more, the first address takes what was cancelled": registerOf(FUNDED, [
    [grantOf(0n), tokenOf(BOB, 700n, ID("2")), tokenOf(CAROL, 700n, ID("3"))],
  ]),
  "a grant of another owner": registerOf(FUNDED, [[grantOf(1_000n, 0n, CAROL)]]),
  "a grant of another owner, funded with more than it held": registerOf(FUNDED, [
    [grantOf(2_500n, 0n, CAROL), tokenOf(ALICE, 500n)],
  ]),
  "holders, groups and freezes": registerOf(
    [
      mintTo(ALICE, 100n),
      mintTo(BOB, 100n, ID("2")),
      mintTo(CAROL, 300n, ID("3")),
      [
        addressAdded({ holderId: 4n, addr: ALICE }),
        addressAdded({ holderId: 4n, addr: CAROL }),
        holderAddedTo({ holderId: 4n, addresses: [ALICE, CAROL] }),
        joinedGroup({ addr: ALICE, groupId: 7n }),
        frozen({ addr: BOB, isFrozen: true }),
      ],
    ],
    [
      [
        leftGroup({ addr: ALICE, groupId: 7n }),
        joinedGroup({ addr: ALICE, groupId: 8n }),
        frozen({ addr: ALICE, isFrozen: true }),
        frozen({ addr: ALICE, isFrozen: false }),
      ],
    ],
  ),
  "equal balances by holder, wallets without a holder behind them": registerOf([
    mintTo(CAROL, 100n),
    mintTo(BOB, 100n, ID("2")),
    mintTo(ALICE, 100n, ID("3")),
    mintTo(SIGNER, 100n, ID("4")),
    [addressAdded({ holderId: 10n, addr: BOB }), addressAdded({ holderId: 9n, addr: CAROL })],
  ]),
  "a role granted, and taken": registerOf([
    [
      roleChanged({
        owner: ALICE,
        role: `${PACKAGE.slice(2)}::roles::WalletsAdmin`,
        granted: true,
      }),
    ],
    [
      roleChanged({
        owner: ALICE,
        role: `${PACKAGE.slice(2)}::roles::WalletsAdmin`,
        granted: false,
      }),
    ],
  ]),
};

const claims = (name: string, of: keyof typeof made): readonly object[] =>
  z.array(z.record(z.string(), z.json())).parse(REGISTERS[name]?.[of]);

const forgedRegisters = (): readonly Case[] => {
  const [force, split] = [
    "an object of another owner, by force",
    "a mint, and a part of it transferred",
  ];
  const lie = (
    name: string,
    of: keyof typeof made,
    edit: (lines: readonly object[]) => readonly object[],
  ) => ({
    ...REGISTERS[name],
    [of]: edit(claims(name, of)),
  });
  return [
    [
      "the force is called a transfer",
      lie(force, "movements", (lines) => lines.map((line) => ({ ...line, cause: "TRANSFER" }))),
      "movements are",
    ],
    ["a movement is left out", lie(split, "movements", (lines) => lines.slice(1)), "movements are"],
    [
      "movements in another order",
      lie(split, "movements", (lines) => lines.toReversed()),
      "movements are",
    ],
    [
      "another part of a grant is unlocked",
      lie("a grant funded", "rows", (rows) => rows.map((row) => ({ ...row, unlocked: "0" }))),
      "rows are",
    ],
    [
      "a group is left out",
      lie("holders, groups and freezes", "holderEvents", (lines) => lines.slice(0, -1)),
      "holderEvents are",
    ],
    [
      "a role stays",
      lie("a role granted, and taken", "roleEvents", (lines) => lines.slice(0, 1)),
      "roleEvents are",
    ],
  ];
};

const DAY = 86_400_000n;
const PLAN = {
  releaseCount: 5n,
  delayUntilFirstReleaseMs: 10n * DAY,
  periodBetweenReleasesMs: 30n * DAY,
  initialReleasePortionBps: 2_500n,
  commencementTimestampMs: 1_700_000_000_000n,
  totalAmount: 1_003n,
  tokensTransferred: 0n,
  leftBalance: 1_003n,
};

const unlockedCases = (): readonly Case[] => {
  const begin = PLAN.commencementTimestampMs + PLAN.delayUntilFirstReleaseMs;
  const at = (
    name: string,
    timestampMs: bigint,
    unlocked: bigint,
    change: Partial<typeof PLAN> = {},
  ): Case => [name, json({ grant: { ...PLAN, ...change }, timestampMs, unlocked }), null];
  return [
    at("a millisecond before the first release", begin - 1n, 0n),
    at("the first release, rounded down", begin, 250n),
    at("a millisecond before the second", begin + 30n * DAY - 1n, 250n),
    at("the second, rounded down", begin + 30n * DAY, 438n),
    at("the third", begin + 60n * DAY, 626n),
    at("the fourth", begin + 90n * DAY, 814n),
    at("the last", begin + 120n * DAY, 1_003n),
    at("long after it", begin + 1_000n * DAY, 1_003n),
    at("what was claimed counts no more", begin + 60n * DAY, 376n, {
      tokensTransferred: 250n,
      leftBalance: 753n,
    }),
    at("more was claimed than is due", begin, 0n, { tokensTransferred: 300n, leftBalance: 703n }),
    at("never more than the grant holds", begin + 120n * DAY, 100n, { leftBalance: 100n }),
    at("one release has all", begin, 1_003n, { releaseCount: 1n, initialReleasePortionBps: 0n }),
    at("no release has all at once, too", begin, 1_003n, { releaseCount: 0n }),
    at("no time between: all with the first", begin, 1_003n, { periodBetweenReleasesMs: 0n }),
    [
      "another amount",
      json({ grant: PLAN, timestampMs: begin, unlocked: 251n }),
      "250 are unlocked",
    ],
  ];
};

export const registerVectors = async (): Promise<string> =>
  vectorFile(ABOUT, {
    register: await judged(judgeRegister, [
      ...Object.entries(REGISTERS).map(([name, given]): Case => [name, given, null]),
      ...forgedRegisters(),
    ]),
    unlocked: await judged(judgeUnlocked, unlockedCases()),
  });
