/** Looks at what signers' accounts still pay for: before requests fail for it. */
import { LOW_TRANSACTIONS } from "../http/health/process-health.ts";
import type { Logger } from "../logging/logger.ts";
import { createRareLines } from "../logging/rare-lines.ts";
import type { Relay } from "../ta/ledgers/relay.ts";
import type { Figures } from "../telemetry/figures.ts";
import { pause } from "../waiting/backoff.ts";
import type { ProcessNotes } from "./process-notes.ts";

type Paying = { readonly name: string; readonly relay: Pick<Relay, "payer" | "transactionsLeft"> };

const LOOK_EVERY_MS = 60_000;

/** While gas is low, or just sent. */
const LOOK_LOW_MS = 5_000;

/** An account pays at most for so many: what is beyond is enough. */
const ENOUGH = 1_000_000n;

/**
 * Looks once a minute, and more often while gas is low, until `signal` aborts. Never rejects: a node that does not
 * answer is logged, and what was seen last stands.
 */
export const watchGas = async (
  assets: readonly Paying[],
  {
    figures,
    notes,
    logger,
    everyMs = LOOK_EVERY_MS,
  }: {
    readonly figures: Figures;
    readonly notes: Pick<ProcessNotes, "saySigners">;
    readonly logger: Logger;
    readonly everyMs?: number;
  },
  signal: AbortSignal,
): Promise<void> => {
  const rarely = createRareLines();
  const left = new Map<string, number>();
  /** One question for all assets of an account. */
  const payers = new Map(assets.map(({ relay }) => [relay.payer, relay]));
  const look = async (relay: Paying["relay"]) => {
    const most = await relay.transactionsLeft(signal);
    const transactionsLeft = Number(most < ENOUGH ? most : ENOUGH);
    for (const { name: asset } of assets.filter((one) => one.relay.payer === relay.payer)) {
      left.set(asset, transactionsLeft);
      figures.set("holderbook_signer_transactions_left", { asset }, transactionsLeft);
    }
  };
  while (!signal.aborted) {
    for (const relay of payers.values()) {
      await look(relay).catch((err: unknown) => {
        if (signal.aborted) return;
        const asset = assets.find((one) => one.relay.payer === relay.payer)?.name;
        rarely(`${asset} ${err}`, (repeats) =>
          logger.warn({ asset, err, ...repeats }, "cannot see the gas of a signer's account"),
        );
      });
    }
    notes.saySigners([...left].map(([asset, transactionsLeft]) => ({ asset, transactionsLeft })));
    const isLow = [...left.values()].some((most) => most < LOW_TRANSACTIONS);
    await pause(isLow ? Math.min(everyMs, LOOK_LOW_MS) : everyMs, signal);
  }
};
