import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "postgresql",
  // As `dbOver` names columns that have no name of their own.
  casing: "snake_case",
  out: "drizzle",
  // Tables stand beside the code that writes them; drizzle-kit ignores what else these files export.
  schema: ["log", "pipelines", "projections", "http", "evm", "rest", "ta", "callbacks"].map(
    (room) => `src/${room}/*.ts`,
  ),
});
