import type { Remedy } from "../../src/waiting/remedy.ts";
import { ByteWriter } from "./byte-writer.ts";

/** A type is not canonical: a bug of the simulation. Stop. */
export class TypeSyntaxError extends Error {
  override readonly name = "TypeSyntaxError";
  readonly remedy: Remedy = "stop";

  constructor(type: string) {
    super(`not a canonical Move type: ${type}`);
  }
}

const PRIMITIVES = new Map([
  ["bool", 0],
  ["u8", 1],
  ["u64", 2],
  ["u128", 3],
  ["address", 4],
  ["signer", 5],
  ["u16", 8],
  ["u32", 9],
  ["u256", 10],
]);
const VECTOR = 6;
const STRUCT = 7;

/** `MoveObjectType` abbreviates the most common types. */
const OTHER = 0;
const GAS_COIN = 1;
const COIN = 3;

const FRAMEWORK = `0x${"2".padStart(64, "0")}`;
/** `Coin<SUI>`, which pays for gas. */
export const GAS_COIN_TYPE = `${FRAMEWORK}::coin::Coin<${FRAMEWORK}::sui::SUI>`;
const COIN_PREFIX = `${FRAMEWORK}::coin::Coin<`;

// A ledger has few types (coins times structs), which bounds these caches.
const tags = new Map<string, Uint8Array>();
const objectTypes = new Map<string, Uint8Array>();
const structs = new Map<string, Uint8Array>();

/** BCS of `TypeTag` for a canonical type. */
export const typeTag = (type: string): Uint8Array => remembered(tags, type, encodeTag);

/** BCS of `StructTag`, as in events. */
export const structTag = (type: string): Uint8Array => remembered(structs, type, encodeStruct);

/** BCS of `MoveObjectType`, as in objects. */
export const objectType = (type: string): Uint8Array =>
  remembered(objectTypes, type, (text) => {
    const writer = new ByteWriter();
    if (text === GAS_COIN_TYPE) return writer.u8(GAS_COIN).done();
    if (text.startsWith(COIN_PREFIX)) {
      return writer
        .u8(COIN)
        .raw(typeTag(text.slice(COIN_PREFIX.length, -1)))
        .done();
    }
    return writer.u8(OTHER).raw(structTag(text)).done();
  });

const remembered = (
  cache: Map<string, Uint8Array>,
  type: string,
  encode: (type: string) => Uint8Array,
): Uint8Array => {
  const known = cache.get(type);
  if (known !== undefined) return known;
  const bytes = encode(type);
  cache.set(type, bytes);
  return bytes;
};

const encodeTag = (type: string): Uint8Array => {
  const primitive = PRIMITIVES.get(type);
  if (primitive !== undefined) return new ByteWriter().u8(primitive).done();
  const { head, parameters } = parametersOf(type);
  if (head === "vector") {
    return new ByteWriter()
      .u8(VECTOR)
      .raw(typeTag(parameters[0] ?? ""))
      .done();
  }
  return new ByteWriter().u8(STRUCT).raw(structTag(type)).done();
};

const encodeStruct = (type: string): Uint8Array => {
  const { head, parameters } = parametersOf(type);
  const [address, module, name, ...more] = head.split("::");
  if (!/^0x[0-9a-f]{64}$/.test(address ?? "") || module === undefined || name === undefined) {
    throw new TypeSyntaxError(type);
  }
  if (more.length > 0) throw new TypeSyntaxError(type);
  return new ByteWriter()
    .address(address ?? "")
    .string(module)
    .string(name)
    .list(parameters, (writer, parameter) => writer.raw(typeTag(parameter)))
    .done();
};

/** Splits `a::b::C<X,Y<Z>>` into head and parameters. */
const parametersOf = (type: string): { readonly head: string; readonly parameters: string[] } => {
  const open = type.indexOf("<");
  if (open === -1) return { head: type, parameters: [] };
  if (!type.endsWith(">")) throw new TypeSyntaxError(type);
  const parameters: string[] = [];
  let depth = 0;
  let start = open + 1;
  for (let at = start; at < type.length - 1; at += 1) {
    const character = type[at];
    if (character === "<") depth += 1;
    if (character === ">") depth -= 1;
    if (character === "," && depth === 0) {
      parameters.push(type.slice(start, at));
      start = at + 1;
    }
  }
  parameters.push(type.slice(start, -1));
  return { head: type.slice(0, open), parameters };
};
