/** Checks that the ports are free, or held by a running Holderbook. */
import { z } from "zod";
import { type Address, addressesOf, freePort, ListenError } from "../../http/listen.ts";
import type { Config } from "../../settings/config.ts";
import { errorOf } from "../../waiting/remedy.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** The used part of `/health`. */
const health = z.object({
  status: z.enum(["ok", "catching_up", "stalled"]),
  version: z.string(),
  pipelines: z.array(z.object({ pipeline: z.string(), reason: z.string().optional() })),
  reader: z.object({ reason: z.string().optional() }).optional(),
  reason: z.string().optional(),
});

/** A health report has a few KB, metrics a hundred. */
const LONGEST_BYTES = 1024 * 1024;

/** Listens briefly on an unused port, to check the user's rights. */
export const checkPort = async (
  { host, port, metricsPort }: Pick<Config, "host" | "port" | "metricsPort">,
  signal: AbortSignal,
): Promise<readonly Finding[]> => [
  await checkOne("PORT", host, port, (where, url) => holder(where, url, signal)),
  ...(metricsPort === undefined
    ? []
    : [
        await checkOne("METRICS_PORT", host, metricsPort, (where, url) =>
          metricsHolder(where, url, signal),
        ),
      ]),
];

const checkOne = async (
  setting: NonNullable<Address["setting"]>,
  host: string,
  port: number,
  held: (where: string, url: string) => Promise<Finding>,
): Promise<Finding> => {
  if (port === 0) return ok(`each start takes a free port (${setting}=0)`);
  const where = `${host}:${port}`;
  try {
    const [first = host] = await addressesOf(host);
    await freePort({ host: first, port, setting });
    return ok(`${where} is free`);
  } catch (error) {
    if (error instanceof ListenError) return held(where, urlOf(host, port));
    return fail(errorOf(error).message, `name another HOST or ${setting}`);
  }
};

/** Local URL of a server that listens on this address. */
const urlOf = (host: string, port: number): string => {
  const asked = { "0.0.0.0": "127.0.0.1", "::": "[::1]" }[host] ?? host;
  return `http://${asked.includes(":") && !asked.startsWith("[") ? `[${asked}]` : asked}:${port}`;
};

const metricsHolder = async (where: string, url: string, signal: AbortSignal): Promise<Finding> => {
  const text = await asked(`${url}/metrics`, signal);
  return text?.includes("\nholderbook_")
    ? ok(`${where} serves the metrics of a running Holderbook`)
    : fail(
        `${where} is in use by another program`,
        "end that program, or name another METRICS_PORT",
      );
};

const holder = async (where: string, url: string, signal: AbortSignal): Promise<Finding> => {
  const report = health.safeParse(parsed(await asked(`${url}/health`, signal))).data;
  if (report === undefined) {
    return fail(`${where} is in use by another program`, "end that program, or name another PORT");
  }
  const { status, version } = report;
  const says = `${where} is in use by Holderbook ${version}, health: ${status}`;
  if (status !== "stalled") return ok(says);
  const parts = [
    report.reason,
    report.reader?.reason && `reader: ${report.reader.reason}`,
    ...report.pipelines.map(({ pipeline, reason }) => reason && `${pipeline}: ${reason}`),
  ].filter((part) => part !== undefined && part !== "");
  return warn(
    [says, ...parts.slice(0, 3)].join("; "),
    "see its log, and the documentation of that error",
  );
};

const parsed = (text: string | undefined): unknown => {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
};

const asked = async (url: string, signal: AbortSignal): Promise<string | undefined> => {
  try {
    const answer = await fetch(url, { signal, redirect: "error" });
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of answer.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > LONGEST_BYTES) return undefined;
    }
    return text;
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
};
