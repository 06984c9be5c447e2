/** The reference contracts of `contracts/evm`, compiled once per test process. */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Abi, Hex } from "viem";
import { z } from "zod";

const folder = fileURLToPath(new URL("../../contracts/evm", import.meta.url));

/** The part of the compiler's package that is used; it comes without types. */
type Compiler = { compile(input: string): string };

const compilerOutput = z.object({
  errors: z.array(z.object({ severity: z.string(), formattedMessage: z.string() })).optional(),
  contracts: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        abi: z.custom<Abi>(Array.isArray),
        evm: z.object({ bytecode: z.object({ object: z.string() }) }),
      }),
    ),
  ),
});

/** What is needed to deploy a contract and to call it. */
export type Compiled = { readonly abi: Abi; readonly bytecode: Hex };

let compiled: ReadonlyMap<string, Compiled> | undefined;

/** Compiles the contracts, or finds them compiled. */
export const compileContracts = (): void => {
  compiled ??= compileAll();
};

/** @throws when the sources do not compile, or there is no contract of that name */
export const contract = (name: string): Compiled => {
  compiled ??= compileAll();
  const found = compiled.get(name);
  if (found === undefined) throw new Error(`no contract ${name} in ${folder}`);
  return found;
};

const compileAll = (): ReadonlyMap<string, Compiled> => {
  const files = readdirSync(folder).filter((file) => file.endsWith(".sol"));
  const input = JSON.stringify({
    language: "Solidity",
    sources: Object.fromEntries(
      files.map((file) => [file, { content: readFileSync(`${folder}/${file}`, "utf8") }]),
    ),
    settings: {
      optimizer: { enabled: true, runs: 1 },
      outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
    },
  });
  const output = compilerOutput.parse(JSON.parse(outputFor(input)));
  const errors = (output.errors ?? []).filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new Error(errors.map((each) => each.formattedMessage).join("\n"));
  return new Map(
    Object.values(output.contracts)
      .flatMap((contracts) => Object.entries(contracts))
      .map(([name, { abi, evm }]) => [name, { abi, bytecode: `0x${evm.bytecode.object}` }]),
  );
};

/** The compiler takes five seconds, and every test file needs its output: kept by what went in. */
const outputFor = (input: string): string => {
  const require = createRequire(import.meta.url);
  const version: unknown = require("solc/package.json").version;
  const key = createHash("sha256").update(`${version}\n${input}`).digest("hex");
  const cache = fileURLToPath(new URL(`../../node_modules/.cache/contracts`, import.meta.url));
  const file = `${cache}/${key}.json`;
  if (existsSync(file)) return readFileSync(file, "utf8");
  const solc: Compiler = require("solc");
  const output = solc.compile(input);
  mkdirSync(cache, { recursive: true });
  // Renamed into place: another test process may be reading.
  writeFileSync(`${file}.${process.pid}`, output);
  renameSync(`${file}.${process.pid}`, file);
  return output;
};
