import { bcs } from "@mysten/sui/bcs";

const FRAMEWORK = `0x${"2".padStart(64, "0")}`;
/** `Coin<SUI>`, which pays for gas. */
export const GAS_COIN_TYPE = `${FRAMEWORK}::coin::Coin<${FRAMEWORK}::sui::SUI>`;
const COIN_PREFIX = `${FRAMEWORK}::coin::Coin<`;

/** `TypeTag::Struct`. */
const STRUCT = 7;
/** `MoveObjectType` abbreviates the most common types. */
const OTHER = 0;
const GAS_COIN = 1;
const COIN = 3;

/** Remembers results: a ledger has few types (coins times structs), which bounds the cache. */
const cached = (encode: (type: string) => Uint8Array): ((type: string) => Uint8Array) => {
  const known = new Map<string, Uint8Array>();
  return (type) => {
    const bytes = known.get(type) ?? encode(type);
    known.set(type, bytes);
    return bytes;
  };
};

/** BCS of `TypeTag` for a canonical type. */
export const typeTag = cached((type) => bcs.TypeTag.serialize(type).toBytes());

/** BCS of `StructTag`, as in events. */
export const structTag = cached((type) => {
  const [variant, ...struct] = typeTag(type);
  if (variant !== STRUCT) throw new TypeError(`not the type of a struct: ${type}`);
  return Uint8Array.from(struct);
});

/** BCS of `MoveObjectType`, as in objects. */
export const objectType = cached((type) => {
  if (type === GAS_COIN_TYPE) return Uint8Array.of(GAS_COIN);
  return type.startsWith(COIN_PREFIX)
    ? Uint8Array.of(COIN, ...typeTag(type.slice(COIN_PREFIX.length, -1)))
    : Uint8Array.of(OTHER, ...structTag(type));
});
