/** Asking the service: GraphQL and its JSON paths, with one kind of error. */
import { type DocumentNode, print } from "@0no-co/graphql.web";
import { initGraphQLTada, type ResultOf, type TadaDocumentNode } from "gql.tada";
import { parseExactly } from "../../../client/exact-json.ts";
import { markAnswered, markUnanswered } from "./contact.ts";
import type { introspection } from "./schema-types.d.ts";

/** A GraphQL document, typed by the service's schema: `graph(`query { … }`)`. */
export const graph = initGraphQLTada<{ introspection: introspection }>();

export type { ResultOf };

/** A fact of the token could not be applied: its rows end before this checkpoint. */
export type Quarantine = {
  readonly coinType: string;
  readonly checkpoint: string;
  readonly reason: string;
  /** A proof of completeness names a missing change; else a fact could not be applied. */
  readonly isIncomplete: boolean;
};

/** The service refused, could not answer, or could not be reached. */
export class AskError extends Error {
  override readonly name = "AskError";
  /** HTTP status; 0 without an answer. */
  readonly status: number;
  /** GraphQL's code, such as NOT_YET_INDEXED; otherwise empty. */
  readonly code: string;
  /** To quote to the operator; null without an answer. */
  readonly requestId: string | null;
  /** Of a token in quarantine; null for other errors. */
  readonly quarantine: Quarantine | null;

  constructor(about: {
    readonly quarantine?: Quarantine | null;
    readonly message: string;
    readonly status: number;
    readonly code?: string | undefined;
    readonly requestId?: string | null;
  }) {
    super(about.message);
    this.status = about.status;
    this.code = about.code ?? "";
    this.requestId = about.requestId ?? null;
    this.quarantine = about.quarantine ?? null;
  }
}

/** The answer has a form that this page does not know: reload the page, it may be older than the service. */
export class AnswerFormError extends Error {
  override readonly name = "AnswerFormError";
  constructor(what: string) {
    super(
      `${what}: not the form this page knows; reload the page, it may be older than the service`,
    );
  }
}

/** A key to ask with, and a signal that cancels the request. */
export type Asking = {
  readonly key?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Collects the fields of the schema that are asked for. */
  readonly fields?: Set<string> | undefined;
};

/** A proxy answers with these when its service is gone; the service's own have a request id. */
const FROM_A_PROXY: ReadonlySet<number> = new Set([502, 503, 504]);

/** Whether it is the service that answered. */
export const isFromService = (response: Response): boolean =>
  !FROM_A_PROXY.has(response.status) || response.headers.has("x-request-id");

const noAnswer = (): AskError => {
  markUnanswered();
  return new AskError({ message: "No answer from the service.", status: 0 });
};

/** Timeout of a read, milliseconds: a request that hangs would never be retried. */
const TIMEOUT_MS = 60_000;

const withTimeout = (signal: AbortSignal | undefined, ms: number = TIMEOUT_MS): AbortSignal => {
  const timeout = AbortSignal.timeout(ms);
  return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
};

const send = async (path: string, init: RequestInit): Promise<Response> => {
  let response: Response;
  try {
    response = await fetch(path, { ...init, credentials: "omit", referrerPolicy: "no-referrer" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw noAnswer();
  }
  if (!isFromService(response)) throw noAnswer();
  markAnswered();
  return response;
};

const headersOf = (key: string | undefined): Record<string, string> =>
  key === undefined ? {} : { "x-api-key": key };

const record = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? { ...value } : {};

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

const quarantineIn = ({
  code,
  coinType,
  pipeline,
  checkpoint,
  reason,
}: Record<string, unknown>) => {
  const [coin, from, why] = [text(coinType), text(checkpoint), text(reason)];
  if (code !== "QUARANTINED" || coin === undefined || from === undefined) return null;
  const isIncomplete = pipeline === "completeness";
  return { coinType: coin, checkpoint: from, reason: why ?? "", isIncomplete };
};

/** The error of a body, in either form of the service's. */
const refusal = (response: Response, body: unknown): AskError => {
  const { details, message, error, errors } = record(body);
  const graphError = record(Array.isArray(errors) ? errors[0] : undefined);
  return new AskError({
    message:
      text(graphError.message) ??
      text(details) ??
      text(message) ??
      text(error) ??
      `The service answered ${response.status}.`,
    status: response.status,
    code: text(record(graphError.extensions).code),
    quarantine: quarantineIn(record(graphError.extensions)),
    requestId: response.headers.get("x-request-id"),
  });
};

const parsed = async (response: Response, exact = false): Promise<unknown> => {
  try {
    return exact ? parseExactly(await response.text()) : await response.json();
  } catch {
    return undefined;
  }
};

/**
 * The data of a GraphQL request.
 * @throws AskError when any part of it could not be answered
 */
export const ask = async <Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  asking: Asking,
): Promise<Data> => (await askList(document, variables, asking)).data;

/**
 * The same of a list, with the coin types that it leaves out: those in quarantine, and incomplete ones.
 * @throws AskError when any part of it could not be answered
 */
export const askList = async <Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  { key, signal, fields }: Asking,
): Promise<{ readonly data: Data; readonly leftOut: readonly string[] }> => {
  for (const field of fieldsOf(document)) fields?.add(field);
  const response = await send("/graphql", {
    method: "POST",
    headers: { "content-type": "application/json", ...headersOf(key) },
    body: JSON.stringify({ query: print(document), variables }),
    signal: withTimeout(signal),
  });
  const body = await parsed(response);
  const { data, errors, extensions } = record(body);
  if (!response.ok || Array.isArray(errors) || data === undefined) throw refusal(response, body);
  // The service answers by the schema that these types were made from.
  return { data: data as Data, leftOut: leftOutIn(extensions) };
};

/** Names of the fields at the root of a document. */
const fieldsOf = ({ definitions }: DocumentNode): readonly string[] =>
  definitions.flatMap((definition) =>
    "selectionSet" in definition
      ? definition.selectionSet.selections.flatMap((part) =>
          part.kind === "Field" ? [part.name.value] : [],
        )
      : [],
  );

const leftOutIn = (extensions: unknown): readonly string[] => {
  const { quarantined } = record(extensions);
  const coins = Array.isArray(quarantined) ? quarantined : [];
  return [...new Set(coins.flatMap((coin) => text(record(coin).coinType) ?? []))];
};

/** An address with the parameters that are given: `pathWith("/operator/requests", { status })`. */
export const pathWith = (
  path: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string => {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) search.set(name, value);
  }
  return search.size === 0 ? path : `${path}?${search}`;
};

/**
 * The JSON answer of a path.
 * @throws AskError unless it is a success or `isAnswer`; AnswerFormError when it is no JSON object
 */
export const askPath = async <Answer extends object>(
  path: string,
  {
    key,
    signal,
    body,
    method = body === undefined ? "GET" : "POST",
    timeoutMs,
    exact = false,
    isAnswer = () => false,
  }: Asking & {
    readonly body?: object | undefined;
    readonly method?: "GET" | "POST" | "PUT" | "DELETE";
    readonly timeoutMs?: number;
    /** Whether integers beyond 2^53 are bigint. */
    readonly exact?: boolean;
    /** Whether the body of a refusal is an answer all the same. */
    readonly isAnswer?: (body: unknown) => boolean;
  } = {},
): Promise<Answer> => {
  const init: RequestInit =
    body === undefined
      ? { method, headers: headersOf(key), signal: withTimeout(signal, timeoutMs) }
      : {
          method,
          headers: { "content-type": "application/json", ...headersOf(key) },
          body: JSON.stringify(body),
          // What changes something may take long, and has no timeout unless one is given.
          ...(timeoutMs !== undefined
            ? { signal: withTimeout(signal, timeoutMs) }
            : signal !== undefined && { signal }),
        };
  const response = await send(path, init);
  const answer = await parsed(response, exact);
  if (!response.ok && !isAnswer(answer)) throw refusal(response, answer);
  if (typeof answer !== "object" || answer === null) throw new AnswerFormError(path);
  // The service answers by the schemas that these types were made from.
  return answer as Answer;
};

/** A read whose question is in a body: an address may be logged on the way. @throws as `askPath` */
export const askByBody = <Answer extends object>(
  path: string,
  body: object,
  asking: Asking,
): Promise<Answer> => askPath<Answer>(path, { ...asking, body, timeoutMs: TIMEOUT_MS });

/** A path's answer as a file to save. @throws AskError unless it is a success */
export const askFile = async (
  path: string,
  { key }: Asking,
): Promise<{ readonly blob: Blob; readonly name: string }> => {
  const response = await send(path, { headers: headersOf(key) });
  if (!response.ok) throw refusal(response, await parsed(response));
  const named = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "");
  return { blob: await response.blob(), name: named?.[1] ?? "holderbook" };
};

/** Hands bytes to the browser as a download. */
export const save = ({ blob, name }: { readonly blob: Blob; readonly name: string }): void => {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
};
