import fc from "fast-check";
import { expect, test } from "vitest";
import { CSV_HEADER, csvLine, readLabels } from "../../src/labels/csv.ts";
import { labelText, wordsOf } from "../../src/labels/label.ts";

const COIN = `0x${"a".repeat(64)}::acme::ACME`;
const WALLET = `0x${"4".padStart(64, "0")}`;

test("a file names holders, wallets, roles and treasuries, in columns of any order", () => {
  const { labels, errors } = readLabels(
    [
      "label,kind,wallet,coin_type,holder_id,role,sealed",
      `"Doe, ""Jane""",Holder,,${COIN},016,,yes`,
      "",
      "Cold storage,wallet,0x4,,,,",
      `Secretary,role,,${COIN},,ContractAdmin,no`,
      `Treasury,treasury,,${COIN},,,`,
    ].join("\r\n"),
  );
  expect(errors).toEqual([]);
  expect(labels).toEqual([
    { line: 2, kind: "HOLDER", coinType: COIN, subject: "16", text: 'Doe, "Jane"', isSealed: true },
    {
      line: 4,
      kind: "WALLET",
      coinType: "",
      subject: WALLET,
      text: "Cold storage",
      isSealed: false,
    },
    {
      line: 5,
      kind: "ROLE",
      coinType: COIN,
      subject: "ContractAdmin",
      text: "Secretary",
      isSealed: false,
    },
    { line: 6, kind: "TREASURY", coinType: COIN, subject: "", text: "Treasury", isSealed: false },
  ]);
});

test("every error of a file is reported with its line", () => {
  const { errors } = readLabels(
    [
      CSV_HEADER,
      `holder,${COIN},,,,Jane,`,
      `holder,${COIN},16,0x4,,Jane,`,
      "wallet,,,0x4,,,",
      "wallet,,,0x4,,Cold storage,maybe",
      "wallet,,,0x4,,Cold storage,",
      "wallet,,,0x004,,Another name,",
      `person,${COIN},16,,,Jane,`,
      "wallet,,,0x4",
      'wallet,,,0x5,,"two\nlines",',
      `holder,acme,16,,,Jane,`,
      `holder,${COIN},18446744073709551616,,,Jane,`,
    ].join("\n"),
  );
  expect(errors.map(({ line, message }) => `${line}: ${message}`)).toEqual([
    "2: holder_id: is missing; a holder needs it",
    "3: wallet: must be absent for a holder",
    "4: label: must not be empty",
    "5: sealed: must be yes, no or empty",
    "7: names the same as line 6",
    "8: kind: must be holder, wallet, role, treasury",
    "9: has 4 cells, and the header 7",
    expect.stringMatching(/^12: coin_type: is .*acme/),
    "13: holder_id: must be a holder's number, such as 16",
  ]);
});

test.each([
  ["", /lacks the column kind/],
  ["kind,name\n", /unknown column; there are kind, coin_type/],
  ["kind,label,label\n", /names a column twice/],
  [`${CSV_HEADER}\nwallet,,,0x4,,a"b,`, /must be quoted/],
])("a file that is no table of labels is refused: %j", (text, message) => {
  const { labels, errors } = readLabels(text);
  expect(labels).toEqual([]);
  expect(errors).toEqual([{ line: expect.any(Number), message: expect.stringMatching(message) }]);
});

test("an exported label is read back as it was", () => {
  const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }).filter((one) => {
    try {
      return labelText(one) === one;
    } catch {
      return false;
    }
  });
  fc.assert(
    fc.property(text, fc.boolean(), (given, isSealed) => {
      const label = {
        kind: "HOLDER",
        coinType: COIN,
        subject: "16",
        text: given,
        isSealed,
      } as const;
      const line = csvLine({ ...label, id: 1n, by: "jo", at: "2026-01-01T00:00:00.000Z" });
      expect(readLabels(`${CSV_HEADER}\n${line}\n`)).toEqual({
        labels: [{ ...label, line: 2 }],
        errors: [],
      });
    }),
  );
});

test("words are found without case and accents", () => {
  expect(wordsOf("  José ÁLVAREZ-Müller & Co. 16, josé ")).toEqual([
    "jose",
    "alvarez",
    "muller",
    "co",
    "16",
  ]);
});

test.each(["", "  ", "a\u0000b", "a\u202eb", "x".repeat(201), "\ud800"])(
  "a text that could hide or turn others is refused: %j",
  (text) => {
    expect(() => labelText(text)).toThrow(/must (not|have)/);
  },
);
