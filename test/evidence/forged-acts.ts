/** What a dishonest operator makes of the acts in a pack of version 3. */
import { canonicalJson } from "../../client/canonical-json.ts";
import type { ActLine } from "../../client/pack-forms.ts";
import { type Forgery, manifestIn, text, withText } from "./forging.ts";
import { type PackInMemory, signedAnew } from "./packs.ts";

const ACTS = "acts.ndjson";

/** A pack of version 2 as one of version 3: with three acts, and signed by the key. */
export const withActs = (
  pack: PackInMemory,
  key: NonNullable<Parameters<typeof signedAnew>[2]>,
): PackInMemory => {
  const manifest = manifestIn(pack);
  const by = { user: "operator", host: "register", role: "holderbook" };
  const act = (number: string, of: Partial<ActLine>): ActLine => ({
    number,
    at: `2026-01-0${number}T00:00:00.000Z`,
    command: "keys create",
    details: { id: "k1", all: true, more: null },
    by,
    scope: "deployment",
    coinType: null,
    salt: number.repeat(32),
    entry: `${30 + Number(number)}`,
    ...of,
  });
  const acts = [
    act("2", { command: "rebuild" }),
    act("5", { scope: "coin", coinType: manifest.coinType }),
    act("6", { entry: null }),
  ];
  const third = withText(pack, "manifest.json", canonicalJson({ ...manifest, version: 3 }));
  const lines = acts.map((line) => `${canonicalJson(line)}\n`).join("");
  return signedAnew(withText(third, ACTS, lines), undefined, key);
};

const acts = (name: string, edit: (acts: readonly ActLine[]) => readonly unknown[]): Forgery =>
  text(ACTS, name, (own) => {
    const before: ActLine[] = own
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    return edit(before)
      .map((line) => `${canonicalJson(JSON.parse(JSON.stringify(line)))}\n`)
      .join("");
  });

const second = (name: string, change: object) =>
  acts(name, (own) => own.map((one, at) => (at === 1 ? { ...one, ...change } : one)));

/** Each refused by command line, client and page alike. */
export const FORGED_ACTS: readonly Forgery[] = [
  second("an act on another coin", { coinType: `0x${"5".repeat(64)}::acme::ACME` }),
  second("an act on a coin that is called one on all", { scope: "deployment" }),
  second("an act on no coin", { coinType: null }),
  second("an act on a project", { scope: "project" }),
  second("a number of before", { number: "1" }),
  second("the same number twice", { number: "2" }),
  second("number 0", { number: "0" }),
  second("a number with a leading zero", { number: "05" }),
  second("a time of before", { at: "2026-01-01T00:00:00.000Z" }),
  second("a time without milliseconds", { at: "2026-01-05T00:00:00Z" }),
  second("a time in no zone", { at: "2026-01-05T00:00:00.000" }),
  second("a day that no calendar has", { at: "2026-02-30T00:00:00.000Z" }),
  second("an hour that no day has", { at: "2026-01-05T24:00:00.000Z" }),
  second("an entry of before", { entry: "31" }),
  second("an entry with a sign", { entry: "+40" }),
  second("a command with its arguments", { command: "keys create --name x" }),
  second("a command in capitals", { command: "Rebuild" }),
  second("a command that ends its code", { command: "keys`" }),
  second("a detail that is a number", { details: { id: 1 } }),
  second("a detail within a detail", { details: { id: { of: "k" } } }),
  second("a detail of no text", { details: { id: "" } }),
  second("a detail that clears the terminal", { details: { id: "\u001b[2J" } }),
  second("a detail of 2,001 characters", { details: { id: "x".repeat(2_001) } }),
  second("a detail of a name with a digit", { details: { id1: "x" } }),
  second("details that are a list", { details: [] }),
  second("21 details", {
    details: Object.fromEntries([..."abcdefghijklmnopqrstu"].map((name) => [name, null])),
  }),
  second("an account with a line end", { by: { user: "a\nb", host: "h", role: "r" } }),
  second("an account without its host", { by: { user: "a", role: "r" } }),
  second("an account of another script", { by: { user: "\u0430", host: "h", role: "r" } }),
  second("a salt in capitals", { salt: "A".repeat(32) }),
  second("a shorter salt", { salt: "5".repeat(31) }),
  second("a member that nobody knows", { approved: true }),
  acts("in another order", (own) => own.toReversed()),
  acts("an entry behind an act without one", (own) => [
    ...own,
    { ...own[2], number: "7", entry: "40" },
  ]),
  {
    name: `${ACTS}: left out`,
    foundBy: "all",
    forge: (pack, key) => {
      const without = new Map(pack);
      without.delete(ACTS);
      return signedAnew(without, undefined, key);
    },
  },
  {
    name: `${ACTS}: in a pack of version 2`,
    foundBy: "all",
    forge: (pack, key) => {
      const second = canonicalJson({ ...manifestIn(pack), version: 2 });
      return signedAnew(withText(pack, "manifest.json", second), undefined, key);
    },
  },
];
