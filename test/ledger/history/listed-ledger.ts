import { bcs } from "@mysten/sui/bcs";
import { GrpcTypes } from "@mysten/sui/grpc";
import { decodeCheckpoint } from "../../../src/ledger/decode/decode.ts";
import type { ObjectHead } from "../../../src/ledger/history/ledger-index.ts";
import { canonicalAddress } from "../../../src/values/move-type.ts";

/** Position of a transaction in the ledger. */
export type Place = {
  readonly checkpoint: bigint;
  readonly index: number;
  readonly digest: string;
};

/** What a list server needs to know of a ledger. */
export type ListedLedger = {
  readonly chainId: string;
  newest(): bigint;
  /** `sui.rpc.v2.Checkpoint` with all parts, encoded. */
  checkpoint(sequence: bigint): Uint8Array;
  /** Transactions with a key of `keysOf`, in ledger order. */
  listed(key: string): readonly Place[];
  placeOf(digest: string): Place | undefined;
  /** Undefined: no such live object. */
  headOf(id: string): ObjectHead | undefined;
  /** Last checkpoint of an ended epoch. */
  epochEnd(epoch: bigint): bigint | undefined;
  /** A coin's metadata object. */
  metadataOf(coinType: string): string | undefined;
};

/** What a ledger's lists say, grown checkpoint by checkpoint. Its parts may be stored and restored. */
export class Listing {
  readonly #listed = new Map<string, Place[]>();
  readonly #places = new Map<string, Place>();
  readonly #heads = new Map<string, ObjectHead>();
  readonly #metadata = new Map<string, string>();

  /** @param message an encoded `sui.rpc.v2.Checkpoint` */
  add(sequence: bigint, message: Uint8Array): void {
    const { transactions } = GrpcTypes.Checkpoint.fromBinary(message);
    const decoded = decodeCheckpoint({ sequence, encoding: "protobuf", bytes: message });
    for (const [index, transaction] of decoded.transactions.entries()) {
      const { digest } = transaction;
      const place = { checkpoint: sequence, index, digest };
      this.#places.set(digest, place);
      const parts = transactions[index];
      const changes = changesOf(parts?.effects?.bcs?.value);
      const keys = new Set<string>([`sender ${transaction.sender}`]);
      for (const target of callsIn(parts?.transaction?.bcs?.value)) addPath(keys, "call", target);
      for (const event of transaction.events) {
        addPath(keys, "emit", `${event.packageId}::${event.module}`);
        const [head = ""] = event.type.split("<");
        addPath(keys, "event", head);
        keys.add(`event ${event.type}`);
      }
      for (const [id, head] of changes) {
        keys.add(`object ${id}`);
        if (head === null) this.#heads.delete(id);
        else this.#heads.set(id, { ...head, previousTransaction: digest });
      }
      if (transaction.packages.length > 0) keys.add("package-write");
      for (const { id, type } of transaction.outputObjects) {
        const coin = /::(?:coin::CoinMetadata|coin_registry::Currency)<(.+)>$/.exec(type)?.[1];
        if (coin !== undefined) this.#metadata.set(coin, id);
      }
      for (const key of keys) {
        const places = this.#listed.get(key);
        if (places === undefined) this.#listed.set(key, [place]);
        else places.push(place);
      }
    }
  }

  listed(key: string): readonly Place[] {
    return this.#listed.get(key) ?? [];
  }

  placeOf(digest: string): Place | undefined {
    return this.#places.get(digest);
  }

  headOf(id: string): ObjectHead | undefined {
    return this.#heads.get(id);
  }

  metadataOf(coinType: string): string | undefined {
    return this.#metadata.get(coinType);
  }
}

/** `0xpkg`, `0xpkg::module` and `0xpkg::module::name`. */
const addPath = (keys: Set<string>, kind: string, path: string): void => {
  const parts = path.split("::");
  for (let length = 1; length <= parts.length; length += 1) {
    keys.add(`${kind} ${parts.slice(0, length).join("::")}`);
  }
};

/** Functions called at the top level of a transaction; none of a system transaction. */
const callsIn = (data: Uint8Array | undefined): readonly string[] => {
  if (data === undefined) return [];
  const { V1 } = bcs.TransactionData.parse(data);
  return (V1.kind.ProgrammableTransaction?.commands ?? []).flatMap(({ MoveCall: call }) =>
    call == null ? [] : [`${canonicalAddress(call.package)}::${call.module}::${call.function}`],
  );
};

/** Objects of the effects with their version afterwards; null for those that are gone. */
const changesOf = (effects: Uint8Array | undefined) => {
  const changes = new Map<string, Pick<ObjectHead, "version" | "digest"> | null>();
  if (effects === undefined) return changes;
  const { V2 } = bcs.TransactionEffects.parse(effects);
  for (const [id, { outputState }] of V2?.changedObjects ?? []) {
    const { ObjectWrite: object, PackageWrite: published } = outputState;
    const head =
      object != null
        ? { version: BigInt(V2?.lamportVersion ?? 0), digest: object[0] }
        : published != null
          ? { version: BigInt(published[0]), digest: published[1] }
          : null;
    changes.set(canonicalAddress(id), head);
  }
  return changes;
};
