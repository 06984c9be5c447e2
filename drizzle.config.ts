import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "postgresql",
  // As `dbOver` names columns that have no name of their own.
  casing: "snake_case",
  out: "drizzle",
  // Where tables may be declared; drizzle-kit takes the tables and ignores the other exports.
  schema: [
    "src/*/tables.ts",
    "src/audit/sequence/tables.ts",
    "src/evm/log/tables.ts",
    "src/projections/*.ts",
    "src/transfers/*.ts",
    "src/ta/*/tables.ts",
    "src/http/keys.ts",
  ],
});
