import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { recordDecimals, resolveCoin, securitiesWithoutDecimals } from "../../src/log/coins.ts";
import { openLog } from "../../src/log/log.ts";
import { canonicalType } from "../../src/values/move-type.ts";
import { freshDatabase } from "../postgres.ts";
import { decimalsOf } from "./decimals.ts";
import { batch, COIN, fact, PACKAGE } from "./facts.ts";

const identity = { chainId: null, packages: [PACKAGE], firstCheckpoint: 0n };
const coin = (address: string, rest: string) => `0x${address.padStart(64, "0")}::${rest}`;

test("decimals come from the newest metadata first, then the network, then the assets file", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  const known = async () => (await decimalsOf(database, [COIN])).get(COIN);
  await log.append(batch(0n, 0n, [fact(0n)]), []);
  expect(await known()).toBeUndefined();
  expect(await securitiesWithoutDecimals(database)).toEqual([COIN]);

  await recordDecimals(database, "assets_file", [{ coinType: COIN, decimals: 1 }]);
  expect(await known()).toBe(1);
  await recordDecimals(database, "network", [{ coinType: COIN, decimals: 2 }]);
  expect(await known()).toBe(2);
  await recordDecimals(database, "assets_file", [{ coinType: COIN, decimals: 1 }]);
  expect(await known()).toBe(2);

  const said = (decimals: number) => ({ coinType: COIN, decimals });
  await log.append(batch(1n, 1n), [said(3), said(4)]);
  expect(await known()).toBe(4);
  await recordDecimals(database, "network", [said(2)]);
  expect(await known()).toBe(4);
  await log.append(batch(2n, 2n), [said(6)]);
  expect(await known()).toBe(6);
  expect(await securitiesWithoutDecimals(database)).toEqual([]);
});

test("a coin type is found by short address and any letter case, when unambiguous", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  const acme = coin("abc", "acme::Acme");
  const twins = [coin("def", "twin::TWIN"), coin("def", "twin::Twin")];
  const facts = [acme, ...twins].map((coinType, n) => fact(0n, n, { coinType }));
  await log.append(batch(0n, 0n, facts), [{ coinType: coin("9", "not::Security"), decimals: 2 }]);

  const resolved = async (input: string) =>
    (await resolveCoin(database, canonicalType(input))).coinType;
  expect(await resolved("0xABC::acme::Acme")).toBe(acme);
  expect(await resolved("0xabc::ACME::ACME")).toBe(acme);
  expect(await resolved("0xdef::twin::Twin")).toBe(twins[1]);
  expect(await resolved("0xdef::TWIN::twin")).toBe(coin("def", "TWIN::twin"));
  expect(await resolved("0x9::NOT::SECURITY")).toBe(coin("9", "NOT::SECURITY"));
  expect(await resolved("0x1::never::Seen")).toBe(coin("1", "never::Seen"));
});

test("a coin type too long for an index, which any account can make, does not stop the log", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  // Random, so that Postgres cannot compress it below its bound.
  const inner = Array.from({ length: 16 }, () =>
    coin("1", `m::T${randomBytes(60).toString("hex")}`),
  );
  const long = coin("bad", `m::Coin<${inner.join(",")}>`);
  const said = [long, COIN].map((coinType) => ({ coinType, decimals: 6 }));
  await log.append(batch(0n, 0n, [fact(0n, 0, { coinType: long }), fact(0n, 1)]), said);

  expect(await decimalsOf(database, [long, COIN])).toEqual(new Map([[COIN, 6]]));
  const read = await log.readFacts({
    from: 0n,
    names: ["shared_token::Transfer"],
    maxFacts: 10,
    maxBytes: 100_000,
  });
  expect(read?.facts.map(({ coinType }) => coinType)).toEqual([long, COIN]);
});

test("a type parameter that is not a coin's is not mistaken for a security", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, identity);
  const settings = ["u64", "vector<u8>", "address"].map((coinType, index) =>
    fact(0n, 0, { index, coinType, type: `${PACKAGE}::settings::Changed<${coinType}>` }),
  );
  await log.append(batch(0n, 0n, settings), []);
  expect(await securitiesWithoutDecimals(database)).toEqual([]);
});
