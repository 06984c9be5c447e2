/** Traffic unrelated to security tokens: payments, swaps and tickets. */

import { Draft } from "../chain/draft.ts";
import { FRAMEWORK } from "../chain/ids.ts";
import { coinBalance, coinContents } from "../chain/state.ts";
import { enlist, pick, roll, strike } from "../random.ts";
import { ByteWriter } from "../wire/byte-writer.ts";
import { EXCHANGE_OWNER } from "./foreign.ts";
import { account, FAUCET, paySui, perform, type Stage } from "./stage.ts";

/** Number of strangers, and limit of their objects. */
const STRANGERS = 24;
const MOST_OBJECTS = 200;

const exchange = (stage: Stage): string => stage.world.foreignPackages[1] ?? "";

/** A pool's contents: two reserves. */
const poolContents = (id: string, a: bigint, b: bigint): Uint8Array =>
  new ByteWriter().address(id).u64(a).u64(b).done();

/** Opens the exchange's pool, which every swap changes. */
export const openPool = (stage: Stage): void => {
  const draft = new Draft();
  draft.call({ package: exchange(stage), function: "pool::open" }, [], []);
  perform(stage, account(stage, EXCHANGE_OWNER), draft, (execution) => {
    const id = execution.newId();
    execution.create(id, {
      type: `${exchange(stage)}::pool::Pool<${FRAMEWORK}::sui::SUI>`,
      contents: poolContents(id, 1_000_000_000n, 1_000_000_000n),
      owner: "share",
    });
    execution.onSuccess(() => enlist(stage.world.strangers, id));
  });
};

/** One unrelated transaction. */
export const disturb = (stage: Stage): void => {
  const { dice, strangers } = stage.world;
  const from = account(stage, `stranger/${roll(dice, STRANGERS)}`);
  if (strangers.items.length > MOST_OBJECTS) {
    tidy(stage);
    return;
  }
  const what = roll(dice, 4);
  if (what === 0) {
    const to = account(stage, `stranger/${roll(dice, STRANGERS)}`);
    enlist(strangers, paySui(stage, payer(stage, from), to, BigInt(1 + roll(dice, 1_000_000))));
  } else if (what === 1) printTicket(stage, from);
  else swap(stage, from);
};

/** The stranger if it has a gas coin; else the faucet, as `perform` funds later. */
const payer = (stage: Stage, stranger: string): string =>
  stage.world.chain.gasCoins.has(stranger) ? stranger : account(stage, FAUCET);

const swap = (stage: Stage, trader: string): void => {
  const { dice, strangers, chain } = stage.world;
  const [pool] = strangers.items;
  const before = chain.objects.get(pool ?? "");
  if (pool === undefined || before === undefined) return;
  const amount = BigInt(1 + roll(dice, 10_000));
  const draft = new Draft();
  draft.call(
    { package: exchange(stage), function: "pool::swap" },
    [`${FRAMEWORK}::sui::SUI`],
    [draft.shared(pool, "write"), draft.pure(new ByteWriter().u64(amount).done())],
  );
  perform(stage, trader, draft, (execution) => {
    const reserve = coinBalance(before.contents);
    execution.write(pool, poolContents(pool, reserve + amount, 1_000_000_000n));
    execution.emit(
      { package: exchange(stage), module: "pool" },
      `${exchange(stage)}::pool::Swapped<${FRAMEWORK}::sui::SUI>`,
      new ByteWriter().address(pool).address(trader).u64(amount).u64(amount).done(),
    );
  });
};

const printTicket = (stage: Stage, owner: string): void => {
  const draft = new Draft();
  draft.call({ package: exchange(stage), function: "ticket::print" }, [], []);
  perform(stage, owner, draft, (execution) => {
    const id = execution.newId();
    execution.create(id, {
      type: `${exchange(stage)}::ticket::Ticket`,
      contents: new ByteWriter().address(id).address(owner).done(),
      owner: { kind: "address", address: owner },
      publicTransfer: true,
    });
    execution.onSuccess(() => enlist(stage.world.strangers, id));
  });
};

/** Deletes an object, so that a long-running ledger stays small. */
const tidy = (stage: Stage): void => {
  const { dice, strangers, chain } = stage.world;
  const id = pick(dice, strangers.items.slice(1));
  const object = chain.objects.get(id ?? "");
  if (id === undefined || object?.owner.kind !== "address") return;
  const owner = object.owner.address;
  const draft = new Draft();
  const isTicket = object.type.startsWith(exchange(stage));
  if (isTicket) {
    draft.call({ package: exchange(stage), function: "ticket::tear" }, [], [draft.owned(id)]);
  } else {
    draft.add({ kind: "merge", into: { kind: "gas" }, coins: [draft.owned(id)] });
  }
  perform(stage, owner, draft, (execution) => {
    execution.remove(id);
    execution.onSuccess(() => strike(strangers, id));
    if (isTicket) return;
    const coin = chain.gasCoins.get(owner) ?? "";
    const before = chain.objects.get(coin)?.contents;
    if (before === undefined) return;
    execution.write(coin, coinContents(coin, coinBalance(before) + coinBalance(object.contents)));
  });
};
