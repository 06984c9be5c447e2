/** Interface A as a part of the server: the transfer events of the caller's project, and its docs. */
import type { IncomingHttpHeaders } from "node:http";
import type { SigningKeys } from "../callbacks/signing-keys.ts";
import type { Db } from "../database/connect.ts";
import type { RawReads, Readers, Reads } from "../database/readers.ts";
import type { MaybePromise } from "../database/remembered.ts";
import { type ApiDescription, describeTogether } from "../http/api-description.ts";
import { CALLBACK_KEYS } from "../http/callback-keys.ts";
import type { Direct, DirectAnswer, DirectRequest } from "../http/direct.ts";
import { type Admission, createAdmission, inPlace } from "../http/edge/admission.ts";
import { createGate, type GateSettings } from "../http/edge/gate.ts";
import { refuseOtherMethods } from "../http/edge/other-methods.ts";
import { HttpError } from "../http/http-error.ts";
import { hangUpSignal } from "../http/hung-up.ts";
import { findKey, type Key } from "../http/keys.ts";
import { largeBody, largeText, pagesUnsent } from "../http/large-text.ts";
import type { App, Part } from "../http/part.ts";
import { createUnsent, noRoomToSend, type Unsent } from "../http/unsent.ts";
import { listPage } from "../transfers/list-page.ts";
import type { Project } from "../transfers/projects.ts";
import { tokenBook } from "../transfers/token-json.ts";
import { callbackKeysApi, mountCallbackKeys } from "./callback-keys.ts";
import { mountDocs } from "./docs.ts";
import { nextLink, pageQuery, readQuery } from "./list.ts";
import { KEY_HEADER, LIST_PATH } from "./names.ts";
import { openApi, TAG } from "./openapi.ts";

/** What a record weighs: see `Admission`. */
const VALUES_PER_RECORD = 35;

/** Pages that their callers have yet to take; the widest one has about 1.5 MB. */
const UNSENT_BYTES = { totalBytes: 64 * 1024 * 1024, nameBytes: 16 * 1024 * 1024 };

const JSON_TYPE = "application/json; charset=utf-8";

/** A request for the list, as it came. */
type ListRequest = Pick<DirectRequest, "response" | "remoteAddress" | "asked" | "tell"> & {
  readonly headers: IncomingHttpHeaders;
  /** Its parameters, not yet checked. */
  readonly query: unknown;
};

export type RestPartSettings = {
  /** For keys, which are remembered: the same object for all who remember together. */
  readonly keys: Reads;
  /** For tokens, which are remembered; read-only. */
  readonly db: Db;
  /** For the pages; read-only, with a statement timeout. */
  readonly readers: { for(...request: Parameters<Readers["for"]>): RawReads };
  readonly projects: readonly Project[];
  readonly version: string;
  /** Other interfaces that `/openapi.json` describes too. */
  readonly others?: readonly ApiDescription[];
  /** For showing the keys of callbacks; absent where the transfer agent shows them on the same port. */
  readonly callbackKeys?: Pick<SigningKeys, "publicKeys"> | undefined;
  /** How often a key may ask, and an address without a good key may try. */
  readonly limits: Pick<GateSettings<Key>, "limit" | "attempts">;
  /** How much may be under way at once; shared by the interfaces of a process. */
  readonly admission?: Admission | undefined;
  /** Of pages, which need no key; an account of its own unless given. */
  readonly pages?: Unsent | undefined;
  /** Told of each answer that was refused because others are not taken. */
  readonly onUnread?: () => void;
};

export const restPart = ({
  keys,
  db,
  readers,
  projects,
  version,
  others = [],
  callbackKeys,
  limits,
  admission = createAdmission(),
  pages = pagesUnsent(),
  onUnread,
}: RestPartSettings): Part => {
  const unsent = createUnsent({ ...UNSENT_BYTES, onFull: onUnread });
  const books = new Map(projects.map((project) => [project.name, tokenBook(project)]));
  const verify = (presented: string) => projectKey(keys, presented);
  const gate = createGate({ ...limits, verify, header: KEY_HEADER });

  /**
   * The answer to a request, by whichever way it came.
   * @throws HttpError for a caller without access, and for an unknown parameter; HungUpError when
   *   its caller hung up
   */
  const answer = async ({ headers, query, ...asked }: ListRequest): Promise<DirectAnswer> => {
    const { remoteAddress, response, tell } = asked;
    const presented = headers["x-project-api-key"];
    const admitted = await gate.admit({
      presented: typeof presented === "string" ? presented : undefined,
      remoteAddress,
    });
    const { key } = admitted;
    // Also where no answer comes of it: what was counted was counted.
    tell(admitted.headers);
    const wanted = readQuery(query);
    const project = key.subject ?? "";
    const tokens = books.get(project);
    if (tokens === undefined) {
      throw new HttpError(403, `the project ${project} of this key is not configured here`);
    }
    const signal = hangUpSignal({ raw: response });
    const weight = wanted.limit * VALUES_PER_RECORD;
    const place = await admission.enter(key.id, weight, signal);
    const reads = readers.for(signal, weight);
    const { body, next } = await inPlace(place, response, () =>
      listPage(reads, db, tokens, pageQuery(project, wanted)),
    );
    if (!unsent.hold(key.id, body.length, response)) throw noRoomToSend();
    const link = next === null ? undefined : nextLink(asked.asked(), wanted, next);
    return {
      status: 200,
      headers: link === undefined ? {} : { link },
      contentType: JSON_TYPE,
      body,
    };
  };

  /** What nearly all requests are: see `Direct`. */
  const direct: Direct = {
    method: "GET",
    path: LIST_PATH,
    answer: (request) => answer({ ...request, headers: request.raw.headers }),
  };

  const mountList = (app: App): void => {
    app.get(LIST_PATH, async (request, reply) => {
      const { headers, query, ip: remoteAddress } = request;
      const tell = (fields: Readonly<Record<string, string>>) => void reply.headers(fields);
      const asked = () => request;
      const { raw: response } = reply;
      const answered = await answer({ headers, query, remoteAddress, response, asked, tell });
      return reply.headers(answered.headers).type(answered.contentType).send(answered.body);
    });

    refuseOtherMethods(app, LIST_PATH, "records are read by GET");
  };

  return {
    name: "rest",
    direct: [direct],
    paths: [
      { path: LIST_PATH, about: `transfer events of EVM tokens: GET with a key in ${KEY_HEADER}` },
      ...(callbackKeys === undefined
        ? []
        : [{ path: CALLBACK_KEYS.path, about: CALLBACK_KEYS.about }]),
      { path: "/docs", about: "the description of everything but GraphQL, to read" },
      { path: "/openapi.json", about: "the same as OpenAPI 3.1" },
    ],
    register: async (app) => {
      mountList(app);
      if (callbackKeys !== undefined) mountCallbackKeys(app, callbackKeys);
      const keys = callbackKeys === undefined ? [] : [callbackKeysApi(TAG)];
      const description = describeTogether(openApi(version), [...keys, ...others]);
      const document = await largeText(Buffer.from(JSON.stringify(description)));
      app.get("/openapi.json", async (request, reply) => {
        const body = largeBody(request, reply, document, pages);
        return reply.type(JSON_TYPE).send(body);
      });
      refuseOtherMethods(app, "/openapi.json", "use GET");
      mountDocs(app, pages);
    },
  };
};

/** @throws HttpError (403) for a key of another interface */
const projectKey = (keys: Reads, presented: string): MaybePromise<Key | null> => {
  const found = findKey(keys, presented);
  return found instanceof Promise ? found.then(ofProject) : ofProject(found);
};

const ofProject = (key: Key | null): Key | null => {
  if (key !== null && key.kind !== "project") {
    throw new HttpError(
      403,
      `this is a ${key.kind} key; transfer events take keys of the kind project`,
    );
  }
  return key;
};
