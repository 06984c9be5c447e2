/** When a deployment counts as well again after a fault. */
import { until } from "../lanes/until.ts";
import type { Seen } from "./health-watch.ts";
import type { World } from "./world.ts";

/** An answer of `/health`, with its reasons alone. */
const shown = ({ text, ...seen }: Seen) => ({
  ...seen,
  why: [...text.matchAll(/"reason":"([^"]*)"/g)].map(([, reason]) => reason),
});

/**
 * Waits until all is well: `/health` of both processes that serve is `ok` and fresh, the log and every pipeline are
 * beyond where the ledger was, and a request sent now has ended and was called back, as was a later EVM transfer.
 * @returns how long that took, in ms
 */
export const recovery = async (
  { marks, ledger, chain, health, agent, load }: World,
  probe: string,
  withinMs: number,
): Promise<number> => {
  const beganMs = performance.now();
  const goal = ledger.newest() + 2n;
  const transfer = chain.sent();
  let request: string | undefined;
  const sent = agent.send(probe, "whitelist").then((id) => {
    request = id;
  });
  const seen = () => ({
    behind: `${goal - marks.lowest()}`,
    // Any later one: those in replaced blocks are never called back. The mint is larger than all.
    called: chain.called().some((amount) => amount > transfer && amount <= chain.sent()),
    start: shown(health.start.last()),
    serve: shown(health.serve.last()),
    request:
      request === undefined
        ? "not accepted"
        : load.called().has(`ta-${request}`)
          ? "done"
          : request,
  });
  await until(
    "recovery",
    seen,
    ({ behind, called, start, serve, request: probed }) =>
      BigInt(behind) <= 0n &&
      called &&
      [start, serve].every((one) => one.status === "ok" && one.isFresh && one.atMs > beganMs) &&
      probed === "done",
    withinMs,
  );
  await sent;
  return performance.now() - beganMs;
};
