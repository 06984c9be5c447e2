/**
 * Serves a lazy ledger in a process of its own: writes one line of JSON when it answers, and on each
 * line of its input one with what it was asked so far.
 *
 * @param arguments options as JSON, over those of mainnet; numbers of checkpoints as text
 */
import { createInterface } from "node:readline";
import { lazyLedger, MAINNET } from "./lazy-ledger.ts";
import { startListServer } from "./list-server.ts";

const [text = "{}"] = process.argv.slice(2);
const given: Record<string, unknown> = JSON.parse(text);
const { checkpoints = String(MAINNET.checkpoints), ...others } = given;
const ledger = lazyLedger({ ...MAINNET, ...others, checkpoints: BigInt(String(checkpoints)) });
const server = await startListServer(ledger);

const say = (value: object): void => {
  process.stdout.write(
    `${JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? `${one}` : one))}\n`,
  );
};

say({
  host: server.host,
  chainId: ledger.chainId,
  newest: ledger.newest(),
  packages: ledger.packages,
  coins: ledger.coins,
  committee: ledger.committee.members.map(({ publicKey, stake }) => ({
    publicKey: Buffer.from(publicKey).toString("base64"),
    stake,
  })),
  relevant: ledger.relevant.length,
});
for await (const _ of createInterface({ input: process.stdin })) {
  say({ ...server.listed, checkpoints: server.seen.checkpointCalls.length });
}
await server[Symbol.asyncDispose]();
