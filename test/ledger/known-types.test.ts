import { bcs, TypeTagSerializer } from "@mysten/sui/bcs";
import { expect, test } from "vitest";
import { Cursor } from "../../src/ledger/decode/cursor.ts";
import { readStructTag } from "../../src/ledger/decode/type-tag.ts";

const bytesOf = (type: string): Buffer => {
  const tag = TypeTagSerializer.parseFromStr(type, true);
  if (!("struct" in tag)) throw new Error(`not a struct: ${type}`);
  return Buffer.from(bcs.StructTag.serialize(tag.struct).toBytes());
};

/** The text, and how many of the bytes it was read from. */
const read = (bytes: Uint8Array): { text: string; length: number } => {
  const cursor = new Cursor(bytes, 1n);
  return { text: readStructTag(cursor), length: cursor.at };
};

const address = `0x${"5".repeat(64)}`;
const type = (n: number) => `${address}::shared_token::Token${n}<${address}::coin${n}::COIN,u64>`;

test("every type has its own text, whichever types were read before it", () => {
  for (let round = 0; round < 2; round++) {
    for (let n = 0; n < 1500; n++) {
      const bytes = bytesOf(type(n));
      const followed = Buffer.concat([bytes, Buffer.alloc(40, n)]);
      expect(read(followed)).toEqual({ text: type(n), length: bytes.length });
      expect(read(bytes)).toEqual({ text: type(n), length: bytes.length });
    }
  }
});

test("a very long type is read like any other", () => {
  const long = `${address}::m::T<${Array.from({ length: 40 }, () => `${address}::m::P`).join(",")}>`;
  const bytes = bytesOf(long);
  expect(read(bytes)).toEqual({ text: long, length: bytes.length });
});

test("a refused type is refused again, even if a similar one was read", () => {
  const good = bytesOf(type(1));
  read(good);
  const wrong = Buffer.from(good);
  wrong.write("-", good.indexOf("Token1"));
  for (let times = 0; times < 2; times++) {
    expect(() => read(wrong)).toThrow("a Move identifier has letters, digits and _");
    expect(() => read(good.subarray(0, -1))).toThrow("byte");
    expect(read(good).text).toBe(type(1));
  }
});
