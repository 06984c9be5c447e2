/** A thread of `holderbook work backfill`: reads ranges from the configured ledger. */
import { parentPort } from "node:worker_threads";
import { packRange } from "../backfill/range-content.ts";
import { readRange } from "../backfill/read-range.ts";
import type { CheckpointSpan } from "../log/ranges.ts";
import { errorOf } from "../waiting/remedy.ts";
import { openLedgerSource } from "./ledger-source.ts";
import { openProcess } from "./process.ts";

/** To a thread: a range to read, or one to give up. */
export type RangeOrder =
  | {
      readonly id: number;
      readonly range: CheckpointSpan;
      readonly packages: readonly string[];
    }
  | { readonly id: number; readonly abort: true };

/** From a thread. */
export type RangeAnswer =
  | { readonly id: number; readonly content: Uint8Array; readonly rawBytes: number }
  | { readonly id: number; readonly error: { readonly name: string; readonly message: string } };

const { config, logger } = await openProcess();
const { source } = await openLedgerSource(config, logger, { mayBlock: true });
const underWay = new Map<number, AbortController>();

const read = async (
  { range, packages }: Extract<RangeOrder, { readonly range: CheckpointSpan }>,
  signal: AbortSignal,
) => {
  const found = await readRange({ source, level: config.verify.level, packages, range }, signal);
  return { content: await packRange(found), rawBytes: found.rawBytes };
};

parentPort?.on("message", (order: RangeOrder) => {
  if ("abort" in order) {
    underWay.get(order.id)?.abort();
    return;
  }
  const { id } = order;
  const own = new AbortController();
  underWay.set(id, own);
  void read(order, own.signal)
    .then(
      (result): RangeAnswer => ({ id, ...result }),
      (thrown: unknown): RangeAnswer => {
        const { name, message } = errorOf(thrown);
        return { id, error: { name, message } };
      },
    )
    .then((answer) => {
      underWay.delete(id);
      parentPort?.postMessage(answer);
    });
});
