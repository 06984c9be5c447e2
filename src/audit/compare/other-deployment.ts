/**
 * Client of another deployment: its GraphQL, and the public lists of what it signed.
 * Its answers are untrusted: bounded, validated, and escaped when shown.
 */
import { z } from "zod";
import { shownForeign } from "../../logging/foreign-text.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { retryAfterMs } from "../../waiting/retry-after.ts";
import { retrying } from "../../waiting/retrying.ts";

/** The other deployment did not answer, or refused. The message says which, and what to do. */
export class OtherDeploymentError extends Error {
  override readonly name = "OtherDeploymentError";
  readonly remedy: Remedy;
  /** `Retry-After`, milliseconds. */
  readonly pauseMs: number;
  /** Exit code: no difference was found, but nothing was verified either. */
  readonly exitCode = 3;

  constructor(message: string, remedy: Remedy = "stop", pauseMs = 0) {
    super(shownForeign(message));
    this.remedy = remedy;
    this.pauseMs = pauseMs;
  }
}

/** The other one refuses this query, for the reason in the message; other queries may still work. */
export class NotAnsweredError extends OtherDeploymentError {}

/** Answers GraphQL about a register. */
export type Register = {
  /**
   * The members of `data`.
   * @throws OtherDeploymentError when it does not answer; NotAnsweredError when it refuses this query
   */
  ask(query: string, variables?: Variables): Promise<Answered>;
};

export type Variables = Readonly<Record<string, string | number>>;
export type Answered = Readonly<Record<string, unknown>>;

export type OtherDeployment = Register & {
  /** From `_meta`; both checkpoints are null before the first. */
  meta(): Promise<{
    readonly last: bigint | null;
    readonly firstCheckpoint: bigint | null;
    readonly chainId: string | null;
  }>;
  /** Whether parts of its log were read guided; an older version reads it whole. */
  isGuided(): Promise<boolean>;
  /** Hex without 0x. */
  digest(pipeline: string, at: bigint): Promise<string>;
  /** Its program version; null when it does not say. */
  version(): Promise<string | null>;
  /** A page of its signed roots, newest checkpoint first; null where it publishes none. */
  roots(
    version: RootVersion,
    coinType: string,
    before: bigint,
  ): Promise<readonly SignedRoot[] | null>;
  /** A page of its signed log heads, the newest first; null where it publishes none. */
  heads(before: bigint): Promise<readonly SignedHead[] | null>;
};

const checkpoint = z
  .string()
  .regex(/^\d{1,18}$/)
  .transform(BigInt);

const metaAnswer = z.object({
  _meta: z.object({
    checkpoint: checkpoint.nullable(),
    firstCheckpoint: checkpoint.nullable(),
    chainId: z.string().nullable(),
  }),
});

const readAnswer = z.object({ _meta: z.object({ readFrom: z.string() }) });

const ignoreRefusal = (error: unknown): undefined => {
  if (!(error instanceof NotAnsweredError)) throw error;
};

const hex = z.string().regex(/^[0-9a-f]{64}$/);
const digestAnswer = z.object({ pipelineDigest: hex });

/** Page size of signed roots and heads. */
const SIGNED_PAGE = 200;

const rootValue = z.object({ root: hex, total: z.string().regex(/^\d{1,39}$/) });

const rootsAnswer = z.object({
  roots: z
    .array(
      z.object({
        checkpoint,
        checkpointDigest: z.string().max(64),
        ...rootValue.shape,
        /** Version 2 only. */
        decimals: z
          .string()
          .regex(/^\d{1,3}$/)
          .transform(Number)
          .nullish(),
        /** An older version has none. */
        corrections: z.array(z.object({ to: rootValue })).default([]),
      }),
    )
    .max(SIGNED_PAGE),
});

const headsAnswer = z.object({
  heads: z.array(z.object({ checkpoint, hash: hex })).max(SIGNED_PAGE),
});

/** Version of statements and their roots. */
export type RootVersion = 1 | 2;

type SignedRoot = z.infer<typeof rootsAnswer>["roots"][number];
export type SignedHead = z.infer<typeof headsAnswer>["heads"][number];

/** Tokens that a list leaves out: no difference, but not shown. */
const leftOut = z
  .array(z.object({ coinType: z.string(), pipeline: z.string(), checkpoint: z.string() }))
  .optional();

const answer = z.object({
  data: z.record(z.string(), z.unknown()).nullish(),
  extensions: z.object({ quarantined: leftOut }).optional(),
  errors: z
    .array(
      z.object({
        message: z.string(),
        extensions: z.object({ code: z.string().optional() }).optional(),
      }),
    )
    .optional(),
});

/** The widest page is about 8 MB. */
const LONGEST_ANSWER = 16 * 1024 * 1024;

/** The first page of a past cap table takes as long as computing the table. */
const TIMEOUT_MS = 60_000;

/** Covers some four minutes of overload or a restart. */
const ATTEMPTS = 8;
const BACKOFF = { firstMs: 500, maxMs: 30_000 };

/** Longest `Retry-After` that is honoured. */
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

  /** @throws OtherDeploymentError (retry) when it is overloaded or restarting */
  const refuseWhenBusy = ({ status, headers }: Awaited<ReturnType<typeof send>>): void => {
    if (!NOT_NOW.has(status)) return;
    const asked = retryAfterMs(headers.get("retry-after")) ?? 0;
    const pauseMs = Math.min(asked, MOST_MS);
    throw new OtherDeploymentError(`${graphql.origin} answers ${status}`, "retry", pauseMs);
  };

  const again = async <Data>(attempt: () => Promise<Data>): Promise<Data> => {
    const found = await retrying(
      async () => ({ data: await attempt() }),
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

  const ask = (query: string, variables: Variables = {}): Promise<Answered> =>
    again(async () => {
      const sent = await send(graphql, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": key },
        body: JSON.stringify({ query, variables }),
      });
      refuseWhenBusy(sent);
      const {
        data,
        errors = [],
        extensions,
      } = parsed(answer, sent.text, `${graphql.origin} (${sent.status})`);
      const [error] = errors;
      if (error !== undefined) {
        const isOfUs = LOCKED_OUT.has(error.extensions?.code ?? "");
        const Refused = isOfUs ? OtherDeploymentError : NotAnsweredError;
        throw new Refused(`${graphql.origin}: ${error.message}`);
      }
      const [held] = extensions?.quarantined ?? [];
      if (held !== undefined) {
        throw new NotAnsweredError(
          `${graphql.origin}: ${held.coinType} is in quarantine in ${held.pipeline} from checkpoint ${held.checkpoint} on`,
        );
      }
      return data ?? {};
    });

  /** Fetches a public page; null when it has none. */
  const get = <Data>(
    path: string,
    parameters: Readonly<Record<string, string | undefined>>,
    shape: z.ZodType<Data>,
  ): Promise<Data | null> =>
    again(async () => {
      const to = new URL(path, root);
      for (const [name, value] of Object.entries(parameters)) {
        if (value !== undefined) to.searchParams.set(name, value);
      }
      const sent = await send(to, { headers: { accept: "application/json" } });
      refuseWhenBusy(sent);
      // 400: an older version, which does not know a parameter.
      if (sent.status === 404 || sent.status === 400) return null;
      return parsed(shape, sent.text, `${to.origin}${to.pathname} (${sent.status})`);
    });

  return {
    ask,
    meta: async () => {
      const { _meta: meta } = parsed(
        metaAnswer,
        await ask("{ _meta { checkpoint firstCheckpoint chainId } }"),
        graphql.origin,
      );
      const { checkpoint: last, firstCheckpoint, chainId } = meta;
      return { last, firstCheckpoint, chainId };
    },
    isGuided: async () => {
      const read = readAnswer.safeParse(await ask("{ _meta { readFrom } }").catch(ignoreRefusal));
      return read.success && read.data._meta.readFrom === "GUIDED";
    },
    digest: async (pipeline, at) => {
      const query =
        "query ($pipeline: String!, $at: String!) { pipelineDigest(pipeline: $pipeline, atCheckpoint: $at) }";
      const data = await ask(query, { pipeline, at: `${at}` });
      return parsed(digestAnswer, data, graphql.origin).pipelineDigest;
    },
    version: async () => {
      const found = await send(root, { headers: { accept: "application/json" } }).catch(() => null);
      const read = signpost.safeParse(found === null ? null : jsonOrText(found.text));
      return read.success ? read.data.version : null;
    },
    roots: async (version, coinType, before) => {
      const of = version === 1 ? {} : { version: `${version}` };
      const page = { coinType, limit: `${SIGNED_PAGE}`, after: `${before}` };
      return (await get("roots", { ...page, ...of }, rootsAnswer))?.roots ?? null;
    },
    heads: async (before) =>
      (await get("log-heads", { limit: `${SIGNED_PAGE}`, after: `${before}` }, headsAnswer))
        ?.heads ?? null,
  };
};

/** Error codes that every other query would get too. */
const LOCKED_OUT: ReadonlySet<string> = new Set(["UNAUTHENTICATED", "FORBIDDEN"]);

const signpost = z.object({ version: z.string().max(64) });

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

/** The reason behind "fetch failed". */
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
