/** Requests to a remote signer, which keeps the key out of this process. */
import type { z } from "zod";

export type SignerAddress = {
  readonly url: string;
  /** Sent as a bearer token; never logged. */
  readonly token?: string | undefined;
};

const LONGEST_ANSWER = 64 * 1024;

/** Statuses that a retry would not change. */
const WRONG: ReadonlySet<number> = new Set([400, 405, 413, 415, 422]);

type SignerAnswer<Answer> = {
  readonly status: number;
  /** The service refuses the request itself; a retry is useless. */
  readonly isRefused: boolean;
  /** Undefined unless the status is 200 and the body matches the schema. */
  readonly answer: Answer | undefined;
};

/**
 * Posts JSON, follows no redirect, and reads a bounded answer. The caller must verify the signature.
 * @throws the error of `fetch` when the service cannot be reached or `signal` aborts
 */
export const askSigner = async <Answer>(
  { url, token }: SignerAddress,
  body: object,
  shape: z.ZodType<Answer>,
  signal: AbortSignal,
): Promise<SignerAnswer<Answer>> => {
  const response = await fetch(url, {
    method: "POST",
    redirect: "manual",
    headers: {
      "content-type": "application/json",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
    signal,
  });
  const { status } = response;
  const text = await boundedText(response);
  const answer = status === 200 ? parsed(text, shape) : undefined;
  return { status, isRefused: WRONG.has(status), answer };
};

const boundedText = async (response: Response): Promise<string> => {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > LONGEST_ANSWER) break;
  }
  return text;
};

/** A proxy may answer for a service that is down, even with a page and status 200. */
const parsed = <Answer>(text: string, shape: z.ZodType<Answer>): Answer | undefined => {
  try {
    return shape.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
};
