/** The profile against the Move sources of the reference package, read as text. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { bcs } from "@mysten/sui/bcs";
import { expect, test } from "vitest";
import { SHARED_TOKEN, TIMELOCK, TREASURY } from "../../src/ledger/contract/names.ts";
import { sharedToken, timelock, treasury } from "../../src/ledger/contract/objects.ts";
import { AMOUNT_AT, CONTRACT_OBJECTS, CONTRACT_RULES } from "../../src/ledger/contract/profile.ts";

const SOURCES = join(import.meta.dirname, "../../contracts/sui/sources");

type MoveFunction = {
  readonly module: string;
  readonly name: string;
  readonly isPublic: boolean;
  readonly parameters: string;
  readonly body: string;
};

/** Comments hold names of functions, too. */
const sources = globSync("*.move", { cwd: SOURCES }).map((file) =>
  readFileSync(join(SOURCES, file), "utf8").replaceAll(/\/\/.*$/gm, ""),
);

const moduleOf = (text: string): string => /^module security_token::(\w+);/m.exec(text)?.[1] ?? "";

const FUNCTION =
  /^(public(?:\(package\))? )?fun (\w+)(?:<[^>(]*>)?\(([^)]*)\)([^{]*)\{([\s\S]*?)^\}/gm;

/** On one line, `fun name(): T { body }` ends in the next one's brace, which adds no call. */
const functions: readonly MoveFunction[] = sources.flatMap((text) =>
  [...text.matchAll(FUNCTION)].map(([, visibility, name = "", parameters = "", , body = ""]) => ({
    module: moduleOf(text),
    name,
    isPublic: visibility === "public ",
    parameters,
    body,
  })),
);

/** Functions of the package that a body calls; a balance's methods are the framework's. */
const calledBy = ({ module, body }: MoveFunction): readonly MoveFunction[] =>
  [...body.matchAll(/(?:(\w+)(::|\.))?\b(\w+)(?:<[^>()]*>)?\(/g)].flatMap(
    ([, before, kind, name]) =>
      functions.filter((one) => {
        if (one.name !== name) return false;
        if (kind === "::") return one.module === before;
        if (kind === ".") return !/balance$/.test(before ?? "");
        return one.module === module;
      }),
  );

const withCalled = (one: MoveFunction, seen = new Set<MoveFunction>()): Set<MoveFunction> => {
  if (seen.has(one)) return seen;
  seen.add(one);
  for (const called of calledBy(one)) withCalled(called, seen);
  return seen;
};

/** `module::Name` of a struct of the package. */
const named = (simple: string): string => {
  const source = sources.find((text) => text.includes(`public struct ${simple}<`));
  return source === undefined ? simple : `${moduleOf(source)}::${simple}`;
};

const unique = (names: readonly string[]): readonly string[] => [...new Set(names)].toSorted();

const matches = (bodies: readonly string[], pattern: RegExp): readonly string[] =>
  unique(bodies.flatMap((body) => [...body.matchAll(pattern)].map(([, name = ""]) => named(name))));

/** A rule as the sources say it: what a function takes as `&mut` or by value, makes, ends and emits. */
const ruleOf = (one: MoveFunction) => {
  const bodies = [...withCalled(one)].map(({ body }) => body);
  const taken = [...one.parameters.matchAll(/: (&mut |&)?(\w+)<T>/g)]
    .filter(([, reference]) => reference !== "&")
    .map(([, , type = ""]) => named(type));
  return {
    name: `${one.module}::${one.name}`,
    takes: unique(taken),
    makes: matches(bodies, /(\w+)(?:<T>)? \{\s*id: object::new/g),
    ends: matches(bodies, /let (\w+) \{ id,[^}]*\} = /g),
    emits: matches(bodies, /event::emit\((\w+)<T>/g),
  };
};

const byName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  a.name < b.name ? -1 : 1;

test("the profile lists the public functions that change something, with what they take, make, end and emit", () => {
  const found = functions
    .filter(({ isPublic }) => isPublic)
    .map(ruleOf)
    .filter(({ takes, makes, ends, emits }) => [...takes, ...makes, ...ends, ...emits].length > 0);
  const rules = CONTRACT_RULES.map(({ name, takes, makes, ends, emits }) => ({
    name,
    // The coin's cap is no object of the contract.
    takes: takes.length === 0 ? ["TreasuryCap"] : unique(takes),
    makes: unique(makes),
    ends: unique(ends),
    emits: unique(emits),
  }));
  expect(found.length).toBeGreaterThan(20);
  expect(rules.toSorted(byName)).toEqual(found.toSorted(byName));
});

test("no public function hands out an object, a balance or an id to change", () => {
  const returned = sources.flatMap((text) =>
    [...text.matchAll(FUNCTION)]
      .filter(([, visibility]) => visibility === "public ")
      .map(([, , name = "", , type = ""]) => `${name}${type.trim()}`),
  );
  expect(returned).toContain("total_supply: u64");
  const handed = /&mut|UID|Balance|Supply<|SharedToken|Timelock|Treasury/;
  expect(returned.filter((one) => handed.test(one))).toEqual([]);
});

test("an object's amount is where its layout has it", () => {
  const id = `0x${"11".repeat(32)}`;
  const amount = 0x8877_6655_4433_2211n;
  const contents = {
    [TREASURY]: treasury.serialize({ id, totalSupply: amount }).toBytes(),
    [SHARED_TOKEN]: sharedToken.serialize({ id, owner: id, balance: amount }).toBytes(),
    [TIMELOCK]: timelock
      .serialize({
        id,
        owner: id,
        funder: id,
        releaseScheduleId: 1n,
        releaseCount: 2n,
        delayUntilFirstReleaseMs: 3n,
        periodBetweenReleasesMs: 4n,
        initialReleasePortionBps: 5n,
        commencementTimestampMs: 6n,
        totalAmount: 7n,
        tokensTransferred: 8n,
        leftBalance: amount,
      })
      .toBytes(),
  };
  for (const name of CONTRACT_OBJECTS) {
    const at = AMOUNT_AT[name];
    expect(bcs.u64().parse(contents[name].slice(at, at + 8))).toBe(`${amount}`);
  }
});
