/** Asking the service: GraphQL and its JSON paths, with one kind of error. */
import { print } from "@0no-co/graphql.web";
import type { TadaDocumentNode } from "gql.tada";
import { heard, unheard } from "./contact.ts";

/** The service refused, could not answer, or could not be reached. */
export class AskError extends Error {
  override readonly name = "AskError";
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** GraphQL's code, such as NOT_YET_INDEXED; otherwise empty. */
  readonly code: string;
  /** To quote when asking the operator; null when there was no answer. */
  readonly requestId: string | null;

  constructor(about: {
    readonly message: string;
    readonly status: number;
    readonly code?: string | undefined;
    readonly requestId?: string | null;
  }) {
    super(about.message);
    this.status = about.status;
    this.code = about.code ?? "";
    this.requestId = about.requestId ?? null;
  }
}

type Asking = { readonly key?: string | undefined; readonly signal?: AbortSignal | undefined };

/** Statuses of a proxy whose service is gone; the service's own bear the id of the request. */
const FROM_A_PROXY: ReadonlySet<number> = new Set([502, 503, 504]);

/** Whether it is the service that answered. */
export const isFromService = (response: Response): boolean =>
  !FROM_A_PROXY.has(response.status) || response.headers.has("x-request-id");

/** Nobody answered, or only what stands before the service. */
const noAnswer = (): AskError => {
  unheard();
  return new AskError({ message: "No answer from the service.", status: 0 });
};

/** Beyond it a question counts as unanswered, milliseconds: one that hangs would never be asked again. */
const DEADLINE_MS = 60_000;

const within = (signal: AbortSignal | undefined, ms: number = DEADLINE_MS): AbortSignal => {
  const deadline = AbortSignal.timeout(ms);
  return signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
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
  heard();
  return response;
};

const headersOf = (key: string | undefined): Record<string, string> =>
  key === undefined ? {} : { "x-api-key": key };

const record = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? { ...value } : {};

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** What a body of JSON says went wrong, in whichever of the service's two forms. */
const refusal = (response: Response, body: unknown): AskError => {
  const said = record(body);
  const details = said.details;
  const [first] = Array.isArray(said.errors) ? said.errors : [];
  const graph = record(first);
  const { code } = record(graph.extensions);
  return new AskError({
    message:
      text(graph.message) ??
      text(details) ??
      text(said.message) ??
      text(said.error) ??
      `The service answered ${response.status}.`,
    status: response.status,
    code: text(code),
    requestId: response.headers.get("x-request-id"),
  });
};

const parsed = async (response: Response): Promise<unknown> => {
  try {
    return await response.json();
  } catch {
    return undefined;
  }
};

/**
 * The data of a GraphQL request.
 * @throws AskError when anything of it could not be answered
 */
export const ask = async <Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  { key, signal }: Asking,
): Promise<Data> => {
  const response = await send("/graphql", {
    method: "POST",
    headers: { "content-type": "application/json", ...headersOf(key) },
    body: JSON.stringify({ query: print(document), variables }),
    signal: within(signal),
  });
  const body = await parsed(response);
  const { data, errors } = record(body);
  if (!response.ok || Array.isArray(errors) || data === undefined) throw refusal(response, body);
  // The service answers by the schema that these types were made from.
  return data as Data;
};

/**
 * What a path answers with, as JSON.
 * @param read turns it into a typed value; it throws when the answer is of another form
 * @throws AskError when the answer is not a success, nor `isAnswer`
 */
export const askPath = async <Value>(
  path: string,
  read: (body: unknown) => Value,
  {
    key,
    signal,
    body,
    deadlineMs,
    isAnswer = () => false,
  }: Asking & {
    readonly body?: unknown;
    readonly deadlineMs?: number | undefined;
    /** Whether the body of a refusal is what was asked for all the same; none is unless given. */
    readonly isAnswer?: (body: unknown) => boolean;
  } = {},
): Promise<Value> => {
  const response = await send(path, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headersOf(key),
    },
    // What changes something is waited for as long as it takes.
    ...(body === undefined
      ? { signal: within(signal, deadlineMs) }
      : { body: JSON.stringify(body), ...(signal === undefined ? {} : { signal }) }),
  });
  const answer = await parsed(response);
  if (!response.ok && !isAnswer(answer)) throw refusal(response, answer);
  return read(answer);
};

/** What a path answers with, as bytes to be saved. @throws AskError when it is not a success */
export const askFile = async (
  path: string,
  { key, signal }: Asking,
): Promise<{ readonly blob: Blob; readonly name: string }> => {
  const response = await send(path, {
    headers: headersOf(key),
    ...(signal === undefined ? {} : { signal }),
  });
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
