import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  canonicalAddress,
  canonicalType,
  canonicalTypeName,
  MoveTypeError,
  splitType,
} from "../../src/values/move-type.ts";

const pad = (digits: string) => `0x${digits.padStart(64, "0")}`;

describe("an address", () => {
  test("is padded and lower-cased", () => {
    expect(canonicalAddress("0x2")).toBe(pad("2"));
    expect(canonicalAddress("0XaBc")).toBe(pad("abc"));
    expect(canonicalAddress(pad("F".repeat(64)))).toBe(pad("f".repeat(64)));
  });

  test.each(["", "0x", "2", "0xg", `0x${"1".repeat(65)}`, "0x2 ", " 0x2", "0x2\n"])(
    "%j is none",
    (text) => {
      expect(() => canonicalAddress(text)).toThrow(MoveTypeError);
    },
  );
});

describe("a type", () => {
  test("gets canonical addresses everywhere; names stay exact", () => {
    expect(canonicalType("0X2::Coin::cOIN<0xAb::m::T<vector<0x3::a::B>, u64>,address>")).toBe(
      `${pad("2")}::Coin::cOIN<${pad("ab")}::m::T<vector<${pad("3")}::a::B>,u64>,address>`,
    );
  });

  test("may be a primitive or a vector", () => {
    expect(canonicalType("u256")).toBe("u256");
    expect(canonicalType(" vector< vector<u8> > ")).toBe("vector<vector<u8>>");
  });

  test.each([
    "",
    "u7",
    "U8",
    "acme",
    "0x2",
    "0x2::coin",
    "0x2::coin::",
    "0x2::coin::1x",
    "0x2::coin::C<",
    "0x2::coin::C<>",
    "0x2::coin::C<u8",
    "0x2::coin::C<u8,>",
    "0x2::coin::C<u8>>",
    "0x2::coin::C<u8>x",
    "0x2::co in::C",
    "0x2::coin::C::D",
    "2::coin::C",
    "vector<u8,u8>",
    "vector",
    `0x${"1".repeat(65)}::a::B`,
    "0x2::coin::Ü",
    "0x2::a::B<0x2::a::B\n>",
  ])("%j is none", (text) => {
    expect(() => canonicalType(text)).toThrow(MoveTypeError);
  });

  test("is refused immediately when too long or too deep", () => {
    const deep = (levels: number) => `${"vector<".repeat(levels)}u8${">".repeat(levels)}`;
    expect(canonicalType(deep(100))).toBe(deep(100));
    expect(() => canonicalType(deep(200))).toThrow("nested more than 128 levels");
    expect(() => canonicalType(`0x2::a::${"B".repeat(20_000)}`)).toThrow(
      "more than 16384 characters",
    );
  });

  test("is split into its parts", () => {
    const parsed = (text: string) => splitType(canonicalType(text));
    expect(parsed("0x2::coin::Coin<0x3::a::B<u8,bool>,u64>")).toEqual({
      address: pad("2"),
      module: "coin",
      name: "Coin",
      parameters: [`${pad("3")}::a::B<u8,bool>`, "u64"],
    });
    expect(parsed("0x2::clock::Clock").parameters).toEqual([]);
    expect(() => parsed("vector<0x2::a::B>")).toThrow("not the type of a struct");
    expect(() => parsed("u64")).toThrow(MoveTypeError);
  });

  const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/);
  const address = fc.stringMatching(/^[0-9a-fA-F]{1,64}$/);
  const { type } = fc.letrec<{ type: string; struct: string }>((tie) => ({
    type: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom("bool", "u8", "u64", "u256", "address"),
      tie("struct"),
      tie("type").map((element) => `vector<${element}>`),
    ),
    struct: fc
      .tuple(address, name, name, fc.array(tie("type"), { maxLength: 3 }))
      .map(([digits, module, struct, parameters]) => {
        const list = parameters.length === 0 ? "" : `<${parameters.join(", ")}>`;
        return `0x${digits}::${module}::${struct}${list}`;
      }),
  }));

  test("is canonical once and for all, and can be joined again from its parts", () => {
    fc.assert(
      fc.property(type, (text) => {
        const canonical = canonicalType(text);
        expect(canonicalType(canonical)).toBe(canonical);
        expect(canonicalTypeName(canonical.replaceAll("0x", ""))).toBe(canonical);
        if (!canonical.startsWith("0x")) return;
        const { address, module, name, parameters } = splitType(canonical);
        const list = parameters.length === 0 ? "" : `<${parameters.join(",")}>`;
        expect(`${address}::${module}::${name}${list}`).toBe(canonical);
        expect(parameters.map(canonicalType)).toEqual(parameters);
      }),
    );
  });

  test("any text is a type or a MoveTypeError, nothing else", () => {
    const words = fc.constantFrom("0x2", "::", "<", ">", ",", " ", "vector", "u8", "a", "_", "0x");
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(words).map((parts) => parts.join("")),
        ),
        (text) => {
          try {
            canonicalType(text);
          } catch (error) {
            expect(error).toBeInstanceOf(MoveTypeError);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
