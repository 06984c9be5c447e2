import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startDemoNode } from "../../demo/execution.ts";
import { type DemoSource, demoSource } from "../../demo/source.ts";
import { createCheckpointReader } from "../../src/ledger/reading/read.ts";
import {
  type Relay,
  SubmissionRefusedError,
  type WhitelistOrder,
} from "../../src/ta/ledgers/relay.ts";
import { suiKeySigner } from "../../src/ta/ledgers/signer.ts";
import { openSuiNode, suiRelay } from "../../src/ta/ledgers/sui-relay.ts";
import { until } from "../lanes/until.ts";

const never = new AbortController().signal;
const WALLET = `0x${"ab".repeat(32)}`;

/** Reads the ledger as the service does, until disposed of. */
const reading = (source: DemoSource, first: bigint) => {
  const stop = new AbortController();
  const read = createCheckpointReader(source.packages);
  const digests: string[] = [];
  const ended = (async () => {
    for await (const raw of source.checkpoints({ first }, stop.signal)) {
      const { facts } = read(raw);
      digests.push(...facts.map(({ txDigest }) => txDigest));
    }
  })();
  return {
    digests,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await ended;
    },
  };
};

test("a signed transaction appears in a checkpoint under its own digest, also after a restart", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "demo-node-"));
  const options = { dataDir, seed: "node", checkpointsPerSecond: 20, history: 40 };
  const source = demoSource(options);
  const [coin] = source.coinTypes;
  if (coin === undefined) throw new Error("the demo ledger has no coin");
  const { registrar } = source.staff(coin.coinType);
  let txId = "";
  {
    await using ledger = reading(source, 0n);
    await using server = await startDemoNode(source);
    const node = openSuiNode({ host: server.host, tls: false });
    await source.submit({ sender: registrar, calls: [], gasCoins: 1 });
    const settings = {
      node,
      signer: suiKeySigner(source.secretKey(registrar)),
      coinType: coin.coinType,
      packageId: async () => source.packages.at(-1) ?? "",
      treasuryId: async () => coin.treasuryId,
      gasBudget: 50_000_000n,
    };
    const relay = suiRelay(settings);
    const [{ name: resource } = { name: "" }] = await relay.resources(never);
    const order = { requestId: "r", asset: "a", wallet: WALLET, groupId: 2, holderId: 77n };
    const signedBy = async (by: Relay, what: WhitelistOrder) =>
      (await by.prepare(what, resource, never)).sign(never);
    const made = await signedBy(relay, order);
    txId = made.txId;
    expect(await relay.lookUp(txId, never)).toBeNull();
    // Twice at once and once more: it is one transaction.
    await Promise.all([
      relay.submit(made.signed, never, false),
      relay.submit(made.signed, never, false),
    ]);
    await relay.submit(made.signed, never, false);
    expect(await relay.lookUp(txId, never)).toMatchObject({ error: null });
    await until(
      "the transaction's facts",
      () => ledger.digests.includes(txId),
      (there) => there,
    );

    // A coin that has moved on since: a transaction that names its old version is refused.
    const early = await signedBy(relay, { ...order, holderId: null, groupId: 3 });
    const late = await signedBy(relay, { ...order, holderId: null, groupId: 4 });
    await relay.submit(early.signed, never, false);
    await expect(relay.submit(late.signed, never, false)).rejects.toThrow(SubmissionRefusedError);
    expect(await relay.lookUp(late.txId, never)).toBeNull();
    // A signature that is another's, and a package that is not ours.
    const stranger = suiKeySigner(source.secretKey(source.staff(coin.coinType).admin));
    const forged = suiRelay({
      ...settings,
      signer: { address: settings.signer.address, sign: stranger.sign },
    });
    const unsigned = await signedBy(forged, { ...order, holderId: null, groupId: 5 });
    await expect(forged.submit(unsigned.signed, never, false)).rejects.toThrow(
      SubmissionRefusedError,
    );
    const foreign = suiRelay({
      ...settings,
      packageId: async () => source.foreignPackages[0] ?? "",
    });
    const strange = await signedBy(foreign, order);
    await expect(foreign.submit(strange.signed, never, false)).rejects.toThrow(
      SubmissionRefusedError,
    );
    node.close();
  }
  await source.close();

  const again = demoSource(options);
  expect(again.receipt(txId)).toMatchObject({ digest: txId, error: null });
  await again.close();
  await rm(dataDir, { recursive: true, force: true });
});
