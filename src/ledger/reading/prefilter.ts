/**
 * Searches raw bytes to rule out checkpoints without facts. Most of the chain has none, and
 * searching costs a fraction of decoding: this makes a replay from genesis affordable.
 *
 * Why it is safe: a wanted type is in the bytes as BCS: 32 address bytes, then module and name,
 * each after its length. This holds for both encodings, as protobuf is decoded from its BCS parts,
 * which are contiguous byte strings. So
 *
 * - an event or object of our packages contains the package's 32 address bytes;
 * - a coin's metadata object contains `coin`, `CoinMetadata`, or `coin_registry`, `Currency`,
 *   adjacent with their lengths.
 *
 * Exception: abbreviated types (`GasCoin`, `StakedSui`, …) have no address. They belong to 0x2 and
 * 0x3; if one of these is wanted, nothing is ruled out.
 *
 * Damage can hide an address. TLS guards against it on the way, and zstd's checksum where an
 * archive's writer adds one. `VERIFY=signatures` also checks digests of skipped checkpoints.
 */

import { Buffer } from "node:buffer";
import { canonicalAddress } from "../../values/move-type.ts";
import { COIN_METADATA, CURRENCY } from "../contract/names.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import { SHORTENED_TYPE_ADDRESSES } from "../decode/type-tag.ts";
import { createNeedleSearch } from "./needle-search.ts";

/** Whether a checkpoint may hold facts; false is certain. */
type Prefilter = (raw: RawCheckpoint) => boolean;

/**
 * @param packages addresses in any form `canonicalAddress` accepts
 * @throws MoveTypeError (stop)
 */
export const createPrefilter = (packages: readonly string[]): Prefilter => {
  const addresses = [...new Set(packages.map(canonicalAddress))];
  if (addresses.some((address) => SHORTENED_TYPE_ADDRESSES.includes(address))) return () => true;
  const needles = [
    ...addresses.map((address) => Buffer.from(address.slice(2), "hex")),
    ...[COIN_METADATA, CURRENCY].map(bcsOfName),
  ];
  const search = createNeedleSearch(needles);
  return ({ bytes }) => search(bytes);
};

/** `module::Name` as in the BCS of a type. */
const bcsOfName = (name: string): Buffer =>
  Buffer.concat(
    name.split("::").map((part) => Buffer.from(String.fromCharCode(part.length) + part, "latin1")),
  );
