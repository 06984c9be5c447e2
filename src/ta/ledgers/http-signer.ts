/**
 * Signing by a remote service, which keeps the key out of this process.
 *
 * `POST <url>` with `{ ledger, address, asset, requestId, transaction }`: the transaction to sign,
 * base64 of BCS `TransactionData` on Sui, the serialised unsigned transaction in hex on EVM. It
 * answers 200 with `{ "signature": … }` on Sui (base64 of flag, signature, public key) or `{
 * "signedTransaction": … }` on EVM (hex); 403 when signing is not allowed.
 *
 * The answer must be a signature of these bytes by the named address.
 */
import { verifyTransactionSignature } from "@mysten/sui/verify";
import {
  type Hex,
  isHex,
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
  serializeTransaction,
  type TransactionSerialized,
} from "viem";
import { z } from "zod";
import { askSigner, type SignerAddress } from "../../sealing/ask-signer.ts";
import { type EvmSigner, SigningError, SigningNotAllowedError, type SuiSigner } from "./signer.ts";

type HttpSignerSettings = SignerAddress & {
  /** The address that it signs for. */
  readonly address: string;
  /** For one answer. */
  readonly timeoutMs?: number;
};

const TIMEOUT_MS = 10_000;
const suiAnswer = z.object({ signature: z.base64() });
const evmAnswer = z.object({ signedTransaction: z.string() });

export const httpSuiSigner = (settings: HttpSignerSettings): SuiSigner => ({
  address: settings.address,
  sign: async (data, about, signal) => {
    const transaction = Buffer.from(data).toString("base64");
    const body = { ledger: "sui", address: settings.address, ...about, transaction };
    const { signature } = await ask(settings, body, suiAnswer, signal);
    try {
      await verifyTransactionSignature(data, signature, { address: settings.address });
    } catch (cause) {
      throw new SigningError(`the signer's signature is not ${settings.address}'s`, "stop", {
        cause,
      });
    }
    return signature;
  },
});

export const httpEvmSigner = (settings: HttpSignerSettings): EvmSigner => {
  const address: Hex = `0x${settings.address.slice(2).toLowerCase()}`;
  return {
    address,
    sign: async (transaction, about, signal) => {
      const unsigned = serializeTransaction(transaction);
      const body = { ledger: "evm", address, ...about, transaction: unsigned };
      const { signedTransaction } = await ask(settings, body, evmAnswer, signal);
      if (!isHex(signedTransaction) || !(await isSigned(signedTransaction, unsigned, address))) {
        throw new SigningError(
          `the signer's answer is not this transaction signed by ${address}`,
          "stop",
        );
      }
      return signedTransaction;
    },
  };
};

const isSigned = async (signed: Hex, unsigned: Hex, address: Hex): Promise<boolean> => {
  try {
    const { r: _r, s: _s, v: _v, yParity: _parity, ...parts } = parseTransaction(signed);
    if (keccak256(serializeTransaction(parts)) !== keccak256(unsigned)) return false;
    // parseTransaction accepted it, so viem knows its type byte.
    const serializedTransaction = signed as TransactionSerialized;
    const signer = await recoverTransactionAddress({ serializedTransaction });
    return signer.toLowerCase() === address;
  } catch {
    return false;
  }
};

const ask = async <Answer>(
  { timeoutMs = TIMEOUT_MS, ...address }: HttpSignerSettings,
  body: object,
  shape: z.ZodType<Answer>,
  signal: AbortSignal,
): Promise<Answer> => {
  const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const asked = await askSigner(address, body, shape, within).catch((cause: unknown) => {
    throw new SigningError("the signer does not answer", "retry", { cause });
  });
  const { status, isRefused, answer } = asked;
  if (status === 403) throw new SigningNotAllowedError("the signer does not allow it");
  if (status !== 200) {
    throw new SigningError(`the signer answered ${status}`, isRefused ? "stop" : "retry");
  }
  if (answer === undefined) {
    throw new SigningError("the signer's answer is malformed", "retry");
  }
  return answer;
};
