/** Checks the settings, the assets file, and their interdependencies. */
import { assetsOf } from "../../service/assets.ts";
import { type Service, settingsChecks } from "../../service/settings-checks.ts";
import type { Assets } from "../../settings/assets.ts";
import type { Config } from "../../settings/config.ts";
import { configFromEnvironment } from "../../settings/read-config.ts";
import { errorOf } from "../../waiting/remedy.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** Usable settings, and assets where a file has them. */
export type Settings = {
  readonly findings: readonly Finding[];
  readonly config: Config | undefined;
  readonly assets: Assets | undefined;
};

const CORRECT = "correct it; .env.example describes every setting";

/** Runs the process's own checks at start: a finding for each fault. */
export const checkSettings = async (service: Service): Promise<Settings> => {
  const findings: Finding[] = [];
  const attempt = async <T>(work: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      const lines = errorOf(error).message.split("\n");
      // Report faults shared by several checks once.
      const known = new Set(findings.map(({ says }) => says));
      findings.push(...lines.filter((line) => !known.has(line)).map((line) => fail(line, CORRECT)));
      return undefined;
    }
  };
  const config = await attempt(configFromEnvironment);
  if (config === undefined) return { findings, config, assets: undefined };
  for (const check of settingsChecks(service)) await attempt(() => check(config));
  const { assetsFile } = config;
  const assets = assetsFile && (await attempt(() => assetsOf(config, assetsFile)));
  if (service !== "serve") findings.push(...trustMissing(config));
  const file = assets ? `; ${counted(assets)} in ${assetsFile}` : "";
  return {
    findings: findings.length > 0 ? findings : [ok(`all are valid${file}`)],
    config,
    assets: assets || undefined,
  };
};

const counted = ({ projects }: Assets): string => {
  const tokens = projects.reduce((sum, project) => sum + project.tokens.length, 0);
  return `${projects.length} projects with ${tokens} tokens`;
};

/** Verifying signatures needs a committee or checkpoint that the settings name. */
const trustMissing = ({ verify, ledgerSource }: Config): readonly Finding[] => {
  const { level, trustedCheckpoint, committeeFile } = verify;
  if (level !== "signatures" || ledgerSource.startsWith("demo:")) return [];
  if (trustedCheckpoint !== undefined || committeeFile !== undefined) return [];
  return [
    warn(
      "VERIFY=signatures, but no committee is configured; only an existing log has its own",
      "set TRUSTED_CHECKPOINT or COMMITTEE_FILE",
    ),
  ];
};
