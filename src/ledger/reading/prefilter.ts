/**
 * Tells by a search through the raw bytes whether a checkpoint can hold anything for us. Most of a
 * chain's history holds nothing, and searching costs a fraction of decompressing: this is what makes
 * a replay from genesis affordable.
 *
 * Why it is safe. What is wanted has a type, and a type stands in the bytes as BCS writes it: 32 raw
 * address bytes, then module and name, each behind its length. That holds in both encodings: the
 * protobuf one is decoded from its BCS parts alone, and a protobuf byte string stands in the message
 * uncut, as it is. (Addresses as text occur in protobuf fields that are never read.) So
 *
 * - an event or object of one of our packages contains the 32 bytes of that package's address;
 * - a coin's metadata object contains `coin`, `CoinMetadata`, or `coin_registry`, `Currency`, with
 *   their lengths, next to each other.
 *
 * The one exception: object types that the network shortens (`GasCoin`, `StakedSui`, …) do not spell
 * their address. They belong to 0x2 and 0x3, and when one of those is asked for, every checkpoint may
 * hold something.
 *
 * What it cannot see is damage: a changed bit in the only address of a checkpoint hides that
 * checkpoint. What carried the bytes (TLS, zstd's checksum) guards against that; digests guard what
 * is decoded, and with `VERIFY=signatures` also what is ruled out here.
 */

import { Buffer } from "node:buffer";
import { canonicalAddress } from "../../values/move-type.ts";
import { COIN_METADATA, CURRENCY } from "../contract/names.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import { SHORTENED_TYPE_ADDRESSES } from "../decode/type-tag.ts";
import { createNeedleSearch } from "./needle-search.ts";

/** Whether a checkpoint may hold something for us; false is certain, true is not. */
export type Prefilter = (raw: RawCheckpoint) => boolean;

/**
 * Makes the prefilter of these packages and of coin metadata.
 * @param packages addresses, in any form `canonicalAddress` accepts
 * @throws MoveTypeError (stop) for anything else
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

/** `module::Name` as it stands inside the BCS of a type: both behind their lengths. */
const bcsOfName = (name: string): Buffer =>
  Buffer.concat(
    name.split("::").map((part) => Buffer.from(String.fromCharCode(part.length) + part, "latin1")),
  );
