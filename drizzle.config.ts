import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "postgresql",
  // As `dbOver` names columns that have no name of their own.
  casing: "snake_case",
  out: "drizzle",
  // Where tables may be declared; drizzle-kit takes the tables and ignores the other exports.
  schema: [
    "src/*/tables.ts",
    "src/ta/processing/tables.ts",
    "src/pipelines/watermarks.ts",
    "src/projections/*.ts",
    "src/http/keys.ts",
  ],
});
