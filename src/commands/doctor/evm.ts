/** Checks that RPC endpoints of EVM chains answer, and are of the configured chain. */
import { networksOf } from "../../evm/contract/network.ts";
import type { Assets } from "../../settings/assets.ts";
import { withinDeadline } from "../../waiting/deadline.ts";
import { errorOf } from "../../waiting/remedy.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

const ANSWER_MS = 8_000;

/** Requests chain id and newest block from every endpoint. */
export const checkEvm = async (
  assets: Assets | undefined,
  signal: AbortSignal,
): Promise<readonly Finding[]> => {
  const tokens = (assets?.projects ?? []).flatMap((project) =>
    project.tokens.filter((token) => token.ledger === "evm"),
  );
  if (tokens.length === 0) return [ok("no tokens of EVM chains (ASSETS_FILE)")];
  const { openFleet } = await import("../../evm/rpc/fleet.ts");
  const { readHead } = await import("../../evm/rpc/chain-id.ts");
  const chains = networksOf(tokens).map(async ({ chainId, name, rpc: urls }) => {
    const rpc = openFleet(chainId, urls, { waits: false, timeoutMs: ANSWER_MS });
    const answers = await Promise.all(
      rpc.each.map(async (atEndpoint, i) => {
        const label = rpc.status()[i]?.label ?? "";
        const head = await withinDeadline(
          atEndpoint((endpoint) => readHead(endpoint, chainId, signal), signal),
          { ms: ANSWER_MS },
        ).catch(errorOf);
        return { label, head };
      }),
    );
    const works = answers.some(({ head }) => typeof head === "bigint");
    return answers.map(({ label, head }) => {
      if (typeof head === "bigint") return ok(`${name}: ${label} is at block ${head}`);
      const says = `${name}: ${label}: ${head.message}`;
      // Another endpoint suffices to read the chain.
      return (works ? warn : fail)(says, "correct `rpc` of its tokens in ASSETS_FILE");
    });
  });
  return (await Promise.all(chains)).flat();
};
