/** Another deployment, as its GraphQL shows it to a caller with a key. */
import { z } from "zod";
import type { Remedy } from "../waiting/remedy.ts";
import { retryAfterMs } from "../waiting/retry-after.ts";
import { retrying } from "../waiting/retrying.ts";

/** The other deployment did not answer, or refused. The message says which, and what to do. */
export class OtherDeploymentError extends Error {
  override readonly name = "OtherDeploymentError";
  readonly remedy: Remedy;
  /** How long it wants to be left alone, milliseconds. */
  readonly pauseMs: number;

  constructor(message: string, remedy: Remedy = "stop", pauseMs = 0) {
    super(message);
    this.remedy = remedy;
    this.pauseMs = pauseMs;
  }
}

export type OtherDeployment = {
  /** As `_meta` says; both checkpoints are null before the first. */
  standing(): Promise<{
    readonly last: bigint | null;
    readonly firstCheckpoint: bigint | null;
    readonly chainId: string | null;
  }>;
  /** Hex without 0x. */
  digest(pipeline: string, at: bigint): Promise<string>;
  /** Of the program that answers there; null when it does not tell. */
  version(): Promise<string | null>;
};

const checkpoint = z
  .string()
  .regex(/^\d{1,18}$/)
  .transform(BigInt)
  .nullable();

const metaAnswer = z.object({
  _meta: z.object({
    checkpoint,
    firstCheckpoint: checkpoint,
    chainId: z.string().nullable(),
  }),
});

const digestAnswer = z.object({ pipelineDigest: z.string().regex(/^[0-9a-f]{64}$/) });

const answer = z.object({
  data: z.unknown().optional(),
  errors: z.array(z.object({ message: z.string() })).optional(),
});

/** Answers are some hundred bytes. */
const LONGEST_ANSWER = 65_536;

const TIMEOUT_MS = 15_000;

/** Some four minutes of a server that has no time, or of one that is started again. */
const ATTEMPTS = 8;
const BACKOFF = { firstMs: 500, maxMs: 30_000 };

/** However long a server wants to be left alone, a command does not wait longer. */
const MOST_MS = 120_000;

const NOT_NOW = new Set([429, 502, 503, 504]);

/**
 * @param url its address, with or without the path `/graphql`
 * @param key of kind graphql
 */
export const otherDeployment = (url: URL, key: string, signal: AbortSignal): OtherDeployment => {
  const graphql = new URL(url);
  if (!graphql.pathname.endsWith("/graphql")) {
    graphql.pathname = `${graphql.pathname.replace(/\/$/, "")}/graphql`;
  }
  const root = new URL(graphql);
  root.pathname = root.pathname.slice(0, -"graphql".length);

  const send = async (to: URL, init: RequestInit) => {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const response = await fetch(to, {
        ...init,
        redirect: "error",
        signal: AbortSignal.any([signal, timeout]),
      });
      const text = await readBounded(response);
      return { status: response.status, headers: response.headers, text };
    } catch (cause) {
      if (cause instanceof OtherDeploymentError) throw cause;
      const why = cause instanceof Error ? causeOf(cause) : String(cause);
      throw new OtherDeploymentError(`${to.origin} does not answer: ${why}`, "retry");
    }
  };

  const ask = async <Data>(
    shape: z.ZodType<Data>,
    query: string,
    variables: Readonly<Record<string, string>>,
  ): Promise<Data> => {
    const { status, headers, text } = await send(graphql, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key },
      body: JSON.stringify({ query, variables }),
    });
    if (NOT_NOW.has(status)) {
      const asked = retryAfterMs(headers.get("retry-after")) ?? 0;
      throw new OtherDeploymentError(
        `${graphql.origin} answers ${status}`,
        "retry",
        Math.min(asked, MOST_MS),
      );
    }
    const { data, errors = [] } = parsed(answer, text, `${graphql.origin} (status ${status})`);
    const [error] = errors;
    if (error !== undefined) throw new OtherDeploymentError(`${graphql.origin}: ${error.message}`);
    return parsed(shape, data, graphql.origin);
  };

  const again = async <Data>(...asked: Parameters<typeof ask<Data>>): Promise<Data> => {
    const found = await retrying(
      async () => ({ data: await ask(...asked) }),
      {
        backoff: BACKOFF,
        attempts: ATTEMPTS,
        leastMs: (error) => (error instanceof OtherDeploymentError ? error.pauseMs : 0),
      },
      signal,
    );
    signal.throwIfAborted();
    if (found === undefined) throw new Error("ended");
    return found.data;
  };

  return {
    standing: async () => {
      const { _meta: meta } = await again(
        metaAnswer,
        "{ _meta { checkpoint firstCheckpoint chainId } }",
        {},
      );
      return {
        last: meta.checkpoint,
        firstCheckpoint: meta.firstCheckpoint,
        chainId: meta.chainId,
      };
    },
    digest: async (pipeline, at) => {
      const query =
        "query ($pipeline: String!, $at: String!) { pipelineDigest(pipeline: $pipeline, atCheckpoint: $at) }";
      return (await again(digestAnswer, query, { pipeline, at: `${at}` })).pipelineDigest;
    },
    version: async () => {
      const found = await send(root, { headers: { accept: "application/json" } }).catch(() => null);
      const told = signpost.safeParse(found === null ? null : jsonOrText(found.text));
      return told.success ? told.data.version : null;
    },
  };
};

const signpost = z.object({ version: z.string() });

const readBounded = async (response: Response): Promise<string> => {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > LONGEST_ANSWER) {
      throw new OtherDeploymentError(
        `${response.url} answers with more than ${LONGEST_ANSWER} bytes`,
      );
    }
  }
  return text;
};

/** What `fetch` says beside "fetch failed". */
const causeOf = ({ message, cause }: Error): string =>
  cause instanceof Error ? cause.message || message : message;

const jsonOrText = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

const parsed = <Value>(shape: z.ZodType<Value>, given: unknown, from: string): Value => {
  const read = shape.safeParse(typeof given === "string" ? jsonOrText(given) : given);
  if (read.success) return read.data;
  throw new OtherDeploymentError(
    `${from} does not answer as Holderbook's GraphQL does; is the address right?`,
  );
};
