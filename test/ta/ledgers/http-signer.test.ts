import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Transaction } from "@mysten/sui/transactions";
import type { TransactionSerializable } from "viem";
import { expect, test } from "vitest";
import { evmKeySigner } from "../../../src/ta/ledgers/evm-key-signer.ts";
import { httpEvmSigner, httpSuiSigner } from "../../../src/ta/ledgers/http-signer.ts";
import {
  SigningError,
  SigningNotAllowedError,
  suiKeySigner,
} from "../../../src/ta/ledgers/signer.ts";

const SUI = suiKeySigner(new Uint8Array(32).fill(7));
const OTHER = suiKeySigner(new Uint8Array(32).fill(8));
const EVM = evmKeySigner(`0x${"11".repeat(32)}`);
const OTHER_EVM = evmKeySigner(`0x${"22".repeat(32)}`);
const ABOUT = { asset: "acme", requestId: "9d1f8f0e-0000-4000-8000-000000000000" };
const never = new AbortController().signal;

type Asked = { readonly authorization: string | undefined; readonly body: unknown };

/** A signing service of which a test decides the answer. */
const startService = async (
  answer: (
    body: Readonly<Record<string, string>>,
  ) => Promise<{ status: number; body: object | string }>,
) => {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    asked.push({ authorization: request.headers.authorization, body });
    const answered = await answer(body);
    const text = typeof answered.body === "string" ? answered.body : JSON.stringify(answered.body);
    response.writeHead(answered.status).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/sign`,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

const suiTransaction = async () => {
  const transaction = new Transaction();
  transaction.setSender(SUI.address);
  transaction.setGasPrice(1_000);
  transaction.setGasBudget(1_000_000);
  transaction.setGasPayment([
    { objectId: "0x5", version: "1", digest: "4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S" },
  ]);
  return await transaction.build();
};

const evmTransaction: TransactionSerializable = {
  type: "eip1559",
  chainId: 1,
  nonce: 3,
  gas: 50_000n,
  maxFeePerGas: 2n,
  maxPriorityFeePerGas: 1n,
  to: `0x${"ab".repeat(20)}`,
  data: "0x1234",
};

test("a remote signer learns what it signs for, and its signature is the address's own", async () => {
  await using service = await startService(async ({ transaction = "" }) => ({
    status: 200,
    body: { signature: await SUI.sign(Buffer.from(transaction, "base64"), ABOUT, never) },
  }));
  const { url, asked } = service;
  const signer = httpSuiSigner({ url, token: "s3cret", address: SUI.address });
  const data = await suiTransaction();
  expect(await signer.sign(data, ABOUT, never)).toBe(await SUI.sign(data, ABOUT, never));
  expect(asked).toEqual([
    {
      authorization: "Bearer s3cret",
      body: {
        ledger: "sui",
        address: SUI.address,
        ...ABOUT,
        transaction: Buffer.from(data).toString("base64"),
      },
    },
  ]);
});

test("a remote signer signs EVM transactions, and only the given one", async () => {
  let wrong = false;
  await using service = await startService(async () => ({
    status: 200,
    body: {
      signedTransaction: await EVM.sign(
        wrong ? { ...evmTransaction, nonce: 4 } : evmTransaction,
        ABOUT,
        never,
      ),
    },
  }));
  const signer = httpEvmSigner({ url: service.url, address: EVM.address });
  expect(await signer.sign(evmTransaction, ABOUT, never)).toBe(
    await EVM.sign(evmTransaction, ABOUT, never),
  );
  wrong = true;
  await expect(signer.sign(evmTransaction, ABOUT, never)).rejects.toThrow(SigningError);
  const another = httpEvmSigner({ url: service.url, address: OTHER_EVM.address });
  wrong = false;
  await expect(another.sign(evmTransaction, ABOUT, never)).rejects.toThrow(SigningError);
});

test("a signature by another key, a refusal and a failure are distinguished", async () => {
  let status = 200;
  await using service = await startService(async ({ transaction = "" }) => ({
    status,
    body: { signature: await OTHER.sign(Buffer.from(transaction, "base64"), ABOUT, never) },
  }));
  const signer = httpSuiSigner({ url: service.url, address: SUI.address });
  const data = await suiTransaction();
  const failure = () => signer.sign(data, ABOUT, never).catch((error: unknown) => error);
  expect(await failure()).toMatchObject({ name: "SigningError", remedy: "stop" });
  status = 403;
  expect(await failure()).toBeInstanceOf(SigningNotAllowedError);
  status = 503;
  expect(await failure()).toMatchObject({ name: "SigningError", remedy: "retry" });
  await service[Symbol.asyncDispose]();
  expect(await failure()).toMatchObject({ name: "SigningError", remedy: "retry" });
});

test("errors of a proxy in front of an absent signer may be temporary: only the signer's own answer is final", async () => {
  let answer: { status: number; body: object | string } = { status: 200, body: "" };
  await using service = await startService(async () => answer);
  const signer = httpEvmSigner({ url: service.url, address: EVM.address });
  const remedyOf = async (status: number, body: object | string) => {
    answer = { status, body };
    const error = await signer.sign(evmTransaction, ABOUT, never).catch((told: unknown) => told);
    return error instanceof SigningError ? error.remedy : error;
  };
  for (const status of [401, 404, 407, 408, 409, 423, 425, 429, 500, 502, 503, 504]) {
    expect([status, await remedyOf(status, {})]).toEqual([status, "retry"]);
  }
  for (const body of ["<html>Maintenance</html>", "", "{", {}, { signedTransaction: 7 }]) {
    expect([body, await remedyOf(200, body)]).toEqual([body, "retry"]);
  }
  for (const status of [400, 405, 413, 415, 422]) {
    expect([status, await remedyOf(status, {})]).toEqual([status, "stop"]);
  }
  expect(await remedyOf(200, { signedTransaction: "0x02" })).toBe("stop");
});

test("a wrong key is refused without being shown", () => {
  for (const make of [suiKeySigner, evmKeySigner]) {
    expect(() => make("not-a-key-but-secret")).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("secret") }),
    );
  }
});
