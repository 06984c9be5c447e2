/** What signers' accounts still pay for, on both kinds of ledger, as health and figures tell it. */
import pino from "pino";
import { expect, test } from "vitest";
import { processDetails } from "../../../src/service/health/process-health.ts";
import { keepProcessNotes } from "../../../src/service/process-notes.ts";
import { watchGas } from "../../../src/service/ta.ts";
import { evmKeySigner } from "../../../src/ta/ledgers/evm-key-signer.ts";
import { evmRelay } from "../../../src/ta/ledgers/evm-relay.ts";
import { suiKeySigner } from "../../../src/ta/ledgers/signer.ts";
import { openSuiNode, suiRelay } from "../../../src/ta/ledgers/sui-relay.ts";
import { createFigures } from "../../../src/telemetry/figures.ts";
import { startAnvil } from "../../evm/anvil.ts";
import { until } from "../../lanes/until.ts";
import { freshDatabase } from "../../postgres.ts";
import { startCircle } from "../processing/circle.ts";
import { OWNER } from "../processing/evm-circle.ts";

test("an account running out of gas is a note with its asset, and a figure, before a request fails; and recovers", async () => {
  await using chain = await startAnvil();
  await using database = await freshDatabase();
  const signer = evmKeySigner(OWNER);
  const relay = evmRelay({
    chainId: chain.client.chain.id,
    rpc: [chain.url],
    token: `0x${"1".padStart(40, "0")}`,
    type: "comakery_security_token_v4",
    signer,
    lowestNonce: async () => 0,
    signedBefore: async () => [],
  });
  const figures = createFigures();
  await using notes = keepProcessNotes(database, figures, 100);
  const stopped = new AbortController();
  const logger = pino({ level: "silent" });
  const assets = ["acme-a", "acme-b"].map((name) => ({ name, relay }));
  const watched = watchGas(assets, { figures, notes, logger, everyMs: 50 }, stopped.signal);
  const details = processDetails(database);
  const figure = () =>
    figures
      .look()
      .filter(({ name }) => name === "holderbook_signer_transactions_left")
      .map(({ labels: [asset], values: [left] }) => ({ asset, left }));
  const seen = async () => {
    const { state, notes: told = [], members } = await details(Date.now());
    return {
      state,
      reasons: told.map(({ reason }) => reason),
      signers: members.signers,
      figure: figure(),
    };
  };
  try {
    const well = await until("signers", seen, ({ signers }) => signers.length === 2);
    expect(well.reasons).toEqual([]);
    expect(well.figure[0]?.left).toBeGreaterThan(20);

    await chain.client.setBalance({ address: signer.address, value: 0n });
    const out = await until("notes", seen, ({ reasons }) => reasons.length === 2);
    expect(out).toMatchObject({
      state: "ok",
      reasons: ["acme-a", "acme-b"].map(
        (asset) => `the signer of ${asset} has gas for no more transactions: send it some`,
      ),
      figure: [
        { asset: "acme-a", left: 0 },
        { asset: "acme-b", left: 0 },
      ],
    });
    await chain.client.setBalance({ address: signer.address, value: 10n ** 18n });
    await until("no notes", seen, ({ reasons }) => reasons.length === 0);
  } finally {
    stopped.abort();
    await watched;
  }
}, 120_000);

test("on Sui coins count for as many transactions as each can pay, and those too small do not count", async () => {
  await using circle = await startCircle({ gasCoins: 3 });
  const { coinType, node, registrar, source } = circle;
  const sui = openSuiNode({ host: node.host, tls: false });
  // The demo's coins have 1,000 SUI each.
  const leftWith = (sui1: bigint) =>
    suiRelay({
      node: sui,
      signer: suiKeySigner(source.secretKey(registrar)),
      coinType,
      packageId: async () => source.packages.at(-1) ?? "",
      treasuryId: async () => undefined,
      gasBudget: sui1 * 1_000_000_000n,
    }).transactionsLeft(new AbortController().signal);
  try {
    expect(await leftWith(1_000n)).toBe(3n);
    expect(await leftWith(300n)).toBe(9n);
    expect(await leftWith(1_001n)).toBe(0n);
  } finally {
    sui.close();
  }
}, 120_000);
