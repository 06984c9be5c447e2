/** Interface A as a part of the server: the transfer events of the caller's project. */

import type { z } from "zod";
import { NoSigningKeyError, type SigningKeys } from "../callbacks/signing-keys.ts";
import type { Db } from "../database/connect.ts";
import type { RawReads, Readers, Reads } from "../database/readers.ts";
import { CALLBACK_KEYS, callbackKeysRoute } from "../http/callback-keys.ts";
import { headerParameter } from "../http/describe.ts";
import { type Admission, createAdmission } from "../http/edge/admission.ts";
import type { Origin } from "../http/edge/caller.ts";
import { HttpError } from "../http/http-error.ts";
import { schemaRef } from "../http/json-schema.ts";
import type { Part } from "../http/part.ts";
import { type Answer, JSON_TYPE, type Reply, type Route, route } from "../http/route.ts";
import { createUnsent } from "../http/unsent.ts";
import { keyHolders, type Limits } from "../http/who.ts";
import {
  type HeldToken,
  listPage,
  type PageQuery,
  TransactionWithheldError,
} from "../transfers/list-page.ts";
import type { Project } from "../transfers/projects.ts";
import { tokenBook } from "../transfers/token-json.ts";
import { derived } from "../values/derived.ts";
import { exampleRecord, transferEventSchema, transferEventsQuery } from "./schema.ts";

export const LIST_PATH = "/r/api/v2/transfer_events";

/** Header field of the project's key. */
const KEY_HEADER = "X-Project-Api-Key";

/** What a record weighs: see `Admission`. */
const VALUES_PER_RECORD = 35;

/** Bytes of pages that callers have yet to take; the widest page has about 1.5 MB. */
const UNSENT_BYTES = { totalBytes: 64 * 1024 * 1024, nameBytes: 16 * 1024 * 1024 };

export type RestPartSettings = {
  /** For cached keys: parts that pass the same object share the cache. */
  readonly keys: Reads;
  /** For cached tokens; read-only. */
  readonly db: Db;
  /** For the pages; read-only, with a statement timeout. */
  readonly readers: { for(...request: Parameters<Readers["for"]>): RawReads };
  readonly projects: () => readonly Project[];
  /** Shows the keys of callbacks; absent where the transfer agent shows them on the same port. */
  readonly callbackKeys?: Pick<SigningKeys, "publicKeys"> | undefined;
  readonly limits: Limits;
  /** Bounds the work under way; shared by the interfaces of a process. */
  readonly admission?: Admission | undefined;
  /** Called for each answer that was refused because its caller leaves others unread. */
  readonly onUnread?: () => void;
};

export const restPart = (settings: RestPartSettings): Part => {
  const { callbackKeys } = settings;
  return {
    name: "rest",
    paths: [
      { path: LIST_PATH, about: `transfer events of EVM tokens: GET with a key in ${KEY_HEADER}` },
      ...(callbackKeys === undefined
        ? []
        : [{ path: CALLBACK_KEYS.path, about: CALLBACK_KEYS.about }]),
    ],
    routes: [
      listRoute(settings),
      ...(callbackKeys === undefined
        ? []
        : [callbackKeysRoute(() => keysOrLater(callbackKeys), "CallbackKeys")]),
    ],
    described: {
      tag: {
        name: "Transfer events",
        description:
          "Transfer events of EVM security tokens, one project per key. Amounts and ids are exact JSON integers, often beyond 2^53: read them with a parser that does not round.",
      },
      webhooks: { transferEvent: { post: CALLBACK } },
    },
  };
};

const listRoute = ({
  keys,
  db,
  readers,
  projects,
  limits,
  admission = createAdmission(),
  onUnread,
}: RestPartSettings): Route => {
  const books = derived(
    projects,
    (known) => new Map(known.map((project) => [project.name, tokenBook(project)])),
  );
  return route({
    method: "GET",
    path: LIST_PATH,
    isFast: true,
    who: keyHolders({
      kinds: ["project"],
      header: KEY_HEADER,
      scheme: {
        name: "projectKey",
        description:
          "Opens the records of one project; made by `holderbook keys create --kind project --project NAME`.",
      },
      keys,
      limits,
      admission,
      unsent: createUnsent({ ...UNSENT_BYTES, onFull: onUnread }),
    }),
    operationId: "listTransferEvents",
    summary: "Transfer events of the key's project",
    description:
      'In the order of the chain. While there is more, a `Link` header with `rel="next"` leads to the next page. Records of blocks that are not final yet are listed too, and withdrawn when the chain replaces them; callbacks are sent for final ones only.\n\nWhile a token is in quarantine its records from the held block on are left out, and the `Quarantined` header names it; the records of a `tx_hash` that has some of them are 409 with the error `QUARANTINED`.\n\nTokens of version 3 and lower make two records of one movement: from the sender to the token contract, then from that contract to the recipient, with the same `tx_hash` and `amount`. Vesting details are in the second.',
    query: transferEventsQuery,
    answer: PAGE,
    refusals: [404, 409],
    weight: ({ query }) => query.limit * VALUES_PER_RECORD,
    handle: async ({ caller, query, signal, visit }) => {
      const project = caller.subject ?? "";
      const tokens = books().get(project);
      if (tokens === undefined) {
        throw new HttpError(403, `the project ${project} of this key is not configured here`);
      }
      const reads = readers.for(signal, query.limit * VALUES_PER_RECORD);
      const { body, next, held } = await listPage(
        reads,
        db,
        tokens,
        pageQuery(project, query),
      ).catch((error: unknown) => {
        if (!(error instanceof TransactionWithheldError)) throw error;
        throw new HttpError(
          409,
          `${error.message}: ask again after its release`,
          {},
          "QUARANTINED",
        );
      });
      return {
        status: 200,
        headers: {
          ...(next !== null && { link: nextLink(visit.origin(), query, next) }),
          ...(held.length > 0 && { quarantined: quarantinedOf(held) }),
        },
        contentType: JSON_TYPE,
        body,
      };
    },
  });
};

type ListQuery = z.output<typeof transferEventsQuery>;

/** The query of a project's records. */
const pageQuery = (
  project: string,
  { tx_hash, recipient_address, order, limit, after_id }: ListQuery,
): PageQuery => ({
  project,
  order,
  limit,
  afterId: after_id,
  txHash: tx_hash === undefined ? undefined : `0x${tx_hash.slice(2)}`,
  recipient: recipient_address === undefined ? undefined : `0x${recipient_address.slice(2)}`,
});

/**
 * `Link` to the next page: the same query, beyond the last record. It is relative where the caller names no
 * valid host.
 */
const nextLink = (
  { protocol, host }: Origin,
  { tx_hash, recipient_address, order, limit }: ListQuery,
  next: string,
): string => {
  const query = new URLSearchParams({
    ...(tx_hash !== undefined && { tx_hash }),
    ...(recipient_address !== undefined && { recipient_address }),
    order,
    limit: `${limit}`,
    after_id: next,
  });
  const origin = URL.parse(`${protocol}://${host}`)?.origin ?? "null";
  return `<${origin === "null" ? "" : `${origin}${LIST_PATH}`}?${query}>; rel="next"`;
};

const quarantinedOf = (held: readonly HeldToken[]): string =>
  held
    .map(({ chainId, token, block, afterId }) => {
      const name = `${chainId}:${token}`;
      return `"${name}";block="${block}";after="${afterId}"`;
    })
    .join(", ");

const PAGE: Answer<Reply> = {
  status: 200,
  description: "A page, empty beyond the last record.",
  headers: {
    Link: '`<…>; rel="next"` while there is more.',
    Quarantined:
      'Tokens in quarantine, the one held longest first, 20 at most: `"chainId:address";block="…";after="…"`. Their records from that block on are missing; after the release, read again from `after_id=after`. Absent while there is none.',
  },
  content: {
    "application/json": {
      schema: { type: "array", items: schemaRef("TransferEvent") },
      example: [exampleRecord],
    },
  },
  schemas: { TransferEvent: transferEventSchema },
  toReply: (page) => page,
};

/** The first process that delivers makes the first key as it starts. */
const keysOrLater = async (keys: Pick<SigningKeys, "publicKeys">) => {
  try {
    return await keys.publicKeys();
  } catch (error) {
    if (!(error instanceof NoSigningKeyError)) throw error;
    throw new HttpError(503, "no callback was signed yet; ask again once the service delivers", {
      "retry-after": "5",
    });
  }
};

/** Header fields of a callback, as docs/how-to/callbacks.md describes them. */
const CALLBACK_HEADERS = {
  "webhook-id": "Names the message: the same in every attempt. Act once per id.",
  "webhook-timestamp": "When this attempt was signed, unix seconds.",
  "webhook-signature":
    "`v1a,` and base64: Ed25519 over `webhook-id.webhook-timestamp.body`; several, separated by spaces, while keys rotate.",
  "x-request-sig-b64": "Base64: the same key over the body alone.",
} as const;

const CALLBACK = {
  tags: ["Transfer events"],
  operationId: "transferEventCallback",
  summary: "A transfer event that has become final",
  description:
    "Sent to the project's callback URL, signed (Standard Webhooks, Ed25519; keys at `/api/v1/callback_pk`), in order per token. Answer 2xx within 15 s; anything else is tried again for three days.",
  security: [],
  parameters: Object.entries(CALLBACK_HEADERS).map(([name, description]) =>
    headerParameter(name, description, true),
  ),
  requestBody: {
    required: true,
    content: {
      "application/json": { schema: schemaRef("TransferEvent"), example: exampleRecord },
    },
  },
  responses: {
    "2XX": { description: "Received; it is not sent again." },
    410: { description: "Nothing more is sent to this address until it is enabled again." },
  },
};
