import { existsSync, readdirSync } from "node:fs";
import { resolve } from "node:path";

/**
 * The folder of genuine checkpoints (`<sequence>.chk`, `expected/<sequence>.json`), or undefined when
 * this machine does not have it: then tests that need it skip and say so. `GENUINE_CHECKPOINTS` names
 * another folder than the usual one beside the project.
 */
export const genuineCheckpoints = (): string | undefined => {
  const folder = resolve(
    process.env.GENUINE_CHECKPOINTS ?? resolve(import.meta.dirname, "../../shared/checkpoints"),
  );
  const present = existsSync(folder) && readdirSync(folder).some((name) => name.endsWith(".chk"));
  return present ? folder : undefined;
};

/** Why tests that need the genuine checkpoints are skipped, for their names. */
export const GENUINE_ABSENT =
  "genuine checkpoints are absent: put them into ../shared/checkpoints or name their folder in GENUINE_CHECKPOINTS";
