import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "drizzle-kit";

const root = import.meta.dirname;

/** Files that declare tables: drizzle-kit compiles them to CommonJS, which has no top-level await (blake2b.ts). */
const declaresTables = (file: string): boolean =>
  /\b(?:pgTable|progressTables)\(/.test(readFileSync(join(root, file), "utf8"));

export default defineConfig({
  dialect: "postgresql",
  // As `dbOver` names columns that have no name of their own.
  casing: "snake_case",
  out: "drizzle",
  // Where tables may be declared; drizzle-kit takes the tables and ignores the other exports.
  schema: [
    "src/*/tables.ts",
    "src/audit/complete/tables.ts",
    "src/audit/sequence/tables.ts",
    "src/evm/log/tables.ts",
    ...globSync("src/projections/*.ts", { cwd: root }).filter(declaresTables).toSorted(),
    "src/transfers/*.ts",
    "src/ta/*/tables.ts",
    "src/http/keys.ts",
  ],
});
