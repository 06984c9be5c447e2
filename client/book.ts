/** Reads a register: typed queries, lists at one checkpoint, and events as they happen. */
import {
  BookError,
  jsonOf,
  memberOf,
  NO_ANSWER,
  pause,
  pauseBefore,
  refusalOf,
  retrying,
  send,
} from "./asking.ts";
import { isPlain } from "./forms.ts";
import {
  type At,
  type BalanceChange,
  type Book,
  type CapTable,
  type CapTableRow,
  exactMembers,
  type Grant,
  type Holder,
  type HolderEvent,
  type Meta,
  type PipelineStatus,
  type RoleEvent,
  type StateRange,
  type Token,
  type TokenActivity,
  type TokenObject,
  type Which,
} from "./register.ts";
import { eventsOf } from "./server-sent.ts";

const ROWS_PER_PAGE = 1_000;

const ATTEMPTS = 6;

/** Ms without a byte; the service sends a comment every 20 seconds. */
const SILENT_MS = 60_000;

/** Polling interval where a service offers no subscriptions. */
const POLL_MS = 2_000;

const META =
  "checkpoint checkpointTimestamp checkpointDigest followPosition chainId firstCheckpoint historyCheckpoint";
const TOKEN = "coinType name symbol decimals totalSupply firstCheckpoint";
const ROW = `holderId balance tokens granted unlocked locked share cursor
  wallets { address balance groupId isFrozen }`;
const GRANT = `objectId owner funder totalAmount leftBalance tokensTransferred commencementTimestampMs
  delayUntilFirstReleaseMs periodBetweenReleasesMs releaseCount initialReleasePortionBps
  releaseScheduleId decimals`;
const ACTIVITY = `eventId eventSeq activityType amount fromAddress toAddress signer coinType decimals
  tokenObjectId checkpoint checkpointTimestamp checkpointTimestampMs txDigest position`;
const CHANGE = `coinType owner part cause change balanceAfter checkpoint checkpointTimestamp
  checkpointTimestampMs txDigest position cursor`;
const HOLDER_EVENT = `eventId coinType eventType holderId address groupId isFrozen checkpointTimestamp
  checkpointTimestampMs position`;
const ROLE_EVENT =
  "eventId coinType owner role roleBit granted signer checkpointTimestamp checkpointTimestampMs position";
const STATUS =
  "pipeline checkpoint checkpointTimestamp ageSeconds digest historyFilledThrough rebuildingTo";

/** The key is refused; polling would be refused too. */
const DENIED = new Set([401, 403]);

/** The service, or a proxy, answered a subscription with something other than a stream. */
class NoStreamError extends Error {
  override readonly name = "NoStreamError";
  readonly refusal: BookError;

  constructor(refusal: BookError) {
    super(refusal.message, { cause: refusal });
    this.refusal = refusal;
  }
}

type Variables = Readonly<Record<string, unknown>>;
type Data = Readonly<Record<string, unknown>>;
type Asking = { readonly signal?: AbortSignal | undefined; readonly attempts?: number };
type Paging<Row> = Asking & {
  readonly rowsOf: (data: Data) => readonly Row[] | undefined;
  readonly cursorOf: (row: Row) => string;
  /** The cursor to start after; absent: from the beginning. */
  readonly first?: string | undefined;
};
type Following<Row> = {
  readonly pick: (data: Data) => Row;
  readonly cursorOf?: (row: Row) => string;
  readonly after?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Fallback where the service offers no streams. */
  readonly polled: (place: string | undefined, cause: BookError) => AsyncIterable<Row>;
};
type OfToken = {
  readonly coinType: string;
  readonly at?: At | undefined;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Opens a register.
 * @param service `url`: such as `https://holderbook.example`; `key`: of the kind `graphql` or
 * `operator`
 */
export const createBook = ({
  url,
  key,
  fetch = globalThis.fetch,
}: {
  readonly url: string;
  readonly key: string;
  readonly fetch?: typeof globalThis.fetch | undefined;
}): Book => {
  const endpoint = new URL("/graphql", url).href;
  const post = (
    query: string,
    variables: Variables,
    signal: AbortSignal | undefined,
    accept: string,
  ) =>
    send(fetch, endpoint, {
      method: "POST",
      headers: { "content-type": "application/json", accept, "x-api-key": key },
      body: JSON.stringify({ query, variables }, (_name, value: unknown) =>
        typeof value === "bigint" ? value.toString() : value,
      ),
      signal: signal ?? null,
    });

  const ask = (
    query: string,
    variables: Variables = {},
    { signal, attempts = ATTEMPTS }: Asking = {},
  ): Promise<Data> =>
    retrying(attempts, signal, async () => {
      const response = await post(query, variables, signal, "application/json");
      const body = await jsonOf(response, signal);
      const data = memberOf(body, "data");
      if (!response.ok || memberOf(body, "errors") !== undefined || !isPlain(data)) {
        throw refusalOf(response, body);
      }
      return exactMembers(data);
    });

  const askFor = async <Value>(
    name: string,
    query: string,
    variables: Variables,
    asking: Asking,
  ): Promise<Value> => (await ask(query, variables, asking))[name] as Value;

  /** Pins one checkpoint, given or the newest, so that all pages of a list agree. */
  const fixed = async ({
    at,
    signal,
  }: {
    readonly at?: At | undefined;
    readonly signal?: AbortSignal | undefined;
  }): Promise<Variables> => {
    if (at !== undefined && "checkpoint" in at) return { atCheckpoint: String(at.checkpoint) };
    if (at !== undefined) return { atTimestamp: String(Math.floor(at.time.getTime() / 1_000)) };
    const meta = await askFor<Meta | null>("_meta", "{ _meta { checkpoint } }", {}, { signal });
    if (meta?.checkpoint == null) {
      throw new BookError("nothing is indexed yet", { status: 200, code: "NOT_YET_INDEXED" });
    }
    return { atCheckpoint: meta.checkpoint.toString() };
  };

  async function* paged<Row>(
    query: string,
    variables: Variables,
    { rowsOf, cursorOf, signal, attempts = ATTEMPTS, first }: Paging<Row>,
  ): AsyncGenerator<Row> {
    let after = first;
    for (;;) {
      const data = await ask(query, { ...variables, after: after ?? null }, { signal, attempts });
      const rows = rowsOf(data) ?? [];
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < ROWS_PER_PAGE) return;
      after = cursorOf(last);
    }
  }

  /** @param owner GraphQL type of the argument `owner`; absent: the list has none */
  const listOf = <Row>(
    name: string,
    fields: string,
    cursorOf: (row: Row) => string,
    owner?: "String" | "String!",
  ) =>
    async function* list(
      of: OfToken & { readonly owner?: string | undefined },
    ): AsyncGenerator<Row> {
      const { coinType, signal } = of;
      const [declared, given] =
        owner === undefined ? ["", ""] : [`, $owner: ${owner}`, ", owner: $owner"];
      const query = `query ($coinType: String!, $atCheckpoint: String, $atTimestamp: String,
          $after: String${declared}) {
        ${name}(coinType: $coinType, atCheckpoint: $atCheckpoint, atTimestamp: $atTimestamp,
          after: $after, limit: ${ROWS_PER_PAGE}${given}) { ${fields} }
      }`;
      const which = owner === undefined ? {} : { owner: of.owner };
      const variables = { coinType, ...(await fixed(of)), ...which };
      yield* paged(query, variables, { rowsOf: rowsIn<Row>(name), cursorOf, signal });
    };

  const capTable: Book["capTable"] = async ({ coinType, at, holder, having, signal }) => {
    // Send only if given: earlier versions of the service lack these arguments.
    const given = [
      { name: "holder", type: "String", value: holder?.toString() },
      { name: "having", type: "RowsWith", value: having },
    ].filter(({ value }) => value !== undefined);
    const which = Object.fromEntries(given.map(({ name, value }) => [name, value]));
    const head = `coinType decimals checkpoint checkpointTimestamp checkpointDigest totalSupply issued
      holderCount root followCursor`;
    const query = `query ($coinType: String!, $atCheckpoint: String, $atTimestamp: String,
        $after: String${given.map(({ name, type }) => `, $${name}: ${type}`).join("")}) {
      capTable(coinType: $coinType, atCheckpoint: $atCheckpoint, atTimestamp: $atTimestamp,
        after: $after, limit: ${ROWS_PER_PAGE}${given.map(({ name }) => `, ${name}: $${name}`).join("")}) { ${head} rows { ${ROW} } }
    }`;
    type Page = Omit<CapTable, typeof Symbol.asyncIterator> & {
      readonly rows: readonly CapTableRow[];
    };
    const when = at === undefined ? {} : await fixed({ at, signal });
    const first = await askFor<Page | null>(
      "capTable",
      query,
      { coinType, ...which, ...when },
      { signal },
    );
    if (first === null) return null;
    const { rows, ...totals } = first;
    return {
      ...totals,
      async *[Symbol.asyncIterator]() {
        yield* rows;
        const last = rows.at(-1);
        if (last === undefined || rows.length < ROWS_PER_PAGE) return;
        const of = { coinType, ...which, atCheckpoint: totals.checkpoint.toString() };
        yield* paged(query, of, {
          rowsOf: (data) => (data.capTable as Page | null)?.rows,
          cursorOf: ({ cursor }) => cursor,
          signal,
          first: last.cursor,
        });
      },
    };
  };

  /** Reads one connection; returns when the service asks to reconnect. */
  async function* connection(query: string, variables: Variables, signal: AbortSignal | undefined) {
    const response = await post(query, variables, signal, "text/event-stream");
    const type = response.headers.get("content-type") ?? "";
    if (!response.ok || !type.startsWith("text/event-stream") || response.body === null) {
      const refusal = refusalOf(response, await jsonOf(response, signal));
      const isProxys = refusal.code === NO_ANSWER;
      if ((refusal.remedy === "retry" && !isProxys) || DENIED.has(response.status)) throw refusal;
      throw new NoStreamError(refusal);
    }
    const limits = { signal, silentMs: SILENT_MS };
    for await (const { event, data } of eventsOf(response.body, limits)) {
      if (event === "complete") return;
      if (event !== "next") continue;
      const next: unknown = JSON.parse(data);
      const errors = memberOf(next, "errors");
      const row = memberOf(next, "data");
      if (errors === undefined && isPlain(row)) {
        yield exactMembers(row);
        continue;
      }
      const error: unknown = Array.isArray(errors) ? errors[0] : undefined;
      const code = String(memberOf(memberOf(error, "extensions"), "code") ?? "");
      if (code === "RECONNECT" || code === "SLOW_CONSUMER") return;
      const message = String(memberOf(error, "message") ?? "the subscription ended");
      throw new BookError(message, { status: 200, code });
    }
  }

  /** Endless events from a place; reconnects after the last one delivered. */
  async function* followed<Row>(
    query: string,
    variables: Variables,
    { pick, cursorOf, after, signal, polled }: Following<Row>,
  ): AsyncGenerator<Row> {
    let place = after;
    let hasStreamed = false;
    for (let failures = 0; ; ) {
      try {
        for await (const data of connection(query, { ...variables, after: place }, signal)) {
          failures = 0;
          hasStreamed = true;
          const row = pick(data);
          place = cursorOf?.(row) ?? place;
          yield row;
        }
        // An orderly end, such as an upgrade: reconnect soon, slower if it repeats.
        signal?.throwIfAborted();
        await pause(pauseBefore(failures), signal);
      } catch (error) {
        signal?.throwIfAborted();
        const refusal = error instanceof NoStreamError ? error.refusal : error;
        if (error instanceof NoStreamError && !(hasStreamed && error.refusal.code === NO_ANSWER)) {
          // If the query itself is at fault, polling is refused too.
          yield* polled(place, error.refusal);
          return;
        }
        if (!(refusal instanceof BookError) || refusal.remedy !== "retry") throw error;
        await pause(pauseBefore(failures, refusal), signal);
      }
      failures += 1;
    }
  }

  const events = <Row, Cursor>(
    name: string,
    fields: string,
    {
      cursorOf,
      beginning,
      byOwner = false,
    }: {
      readonly cursorOf: (row: Row) => string;
      readonly beginning: string;
      readonly byOwner?: boolean;
    },
  ) => {
    const [declared, given] = byOwner ? [", $owner: String", ", owner: $owner"] : ["", ""];
    return async function* each(
      which: Which<Cursor> & { readonly owner?: string | undefined },
    ): AsyncGenerator<Row> {
      const { coinType, coinTypes, owner, after, follow = true, signal } = which;
      // Earlier versions of the service accept one coin type only.
      const isOne = coinType !== undefined;
      if (!isOne && !follow) {
        throw new BookError("a list is of one coinType; several, or all, can be followed", {
          code: "BAD_USER_INPUT",
        });
      }
      const variables = { ...(isOne ? { coinType } : { coinTypes }), ...(byOwner && { owner }) };
      const place = after === undefined ? beginning : String(after);
      const listQuery = `query ($coinType: String!, $after: String${declared}) {
        ${name}(coinType: $coinType, after: $after, limit: ${ROWS_PER_PAGE}${given}) { ${fields} }
      }`;
      const paging = { rowsOf: rowsIn<Row>(name), cursorOf, signal };
      if (!follow) {
        yield* paged(listQuery, variables, { ...paging, first: place });
        return;
      }
      const [which1, passed] = isOne
        ? ["$coinType: String!", "coinType: $coinType"]
        : ["$coinTypes: [String!]", "coinTypes: $coinTypes"];
      const query = `subscription (${which1}, $after: String${declared}) {
        ${name}(${passed}, after: $after${given}) { ${fields} }
      }`;
      const polled = async function* polled(from: string | undefined, cause: BookError) {
        if (!isOne) throw cause;
        for (let first = from; ; ) {
          const endless = { ...paging, first, attempts: Number.POSITIVE_INFINITY };
          for await (const row of paged(listQuery, variables, endless)) {
            first = cursorOf(row);
            yield row;
          }
          await pause(POLL_MS, signal);
        }
      };
      const pick = (data: Data) => data[name] as Row;
      yield* followed(query, variables, { pick, cursorOf, after: place, signal, polled });
    };
  };

  const byPosition = {
    cursorOf: ({ position }: { readonly position: bigint }) => position.toString(),
    beginning: "0",
  };

  const statusNow = (asking: Asking) =>
    askFor<readonly PipelineStatus[]>(
      "indexerStatus",
      `{ indexerStatus { ${STATUS} } }`,
      {},
      asking,
    );

  const ofToken = async <Value>(
    { at, signal, ...variables }: OfToken & { readonly owner?: string },
    name: string,
    fields: string,
  ): Promise<Value> => {
    const [declared, given] =
      variables.owner === undefined ? ["", ""] : [", $owner: String!", ", owner: $owner"];
    const query = `query ($coinType: String!, $atCheckpoint: String, $atTimestamp: String${declared}) {
      ${name}(coinType: $coinType, atCheckpoint: $atCheckpoint, atTimestamp: $atTimestamp${given}) {
        ${fields}
      }
    }`;
    const when = at === undefined ? {} : await fixed({ at, signal });
    return askFor(name, query, { ...variables, ...when }, { signal });
  };

  return {
    ask,
    meta: async ({ at, signal } = {}) => {
      const query = `query ($atCheckpoint: String, $atTimestamp: String) {
        _meta(atCheckpoint: $atCheckpoint, atTimestamp: $atTimestamp) { ${META} }
      }`;
      return askFor("_meta", query, at === undefined ? {} : await fixed({ at, signal }), {
        signal,
      });
    },
    token: (of) => ofToken(of, "token", `${TOKEN} holderCount ownerCount`),
    pipelineDigest: ({ pipeline, checkpoint, signal }) => {
      const query = `query ($pipeline: String!, $checkpoint: String!) {
        pipelineDigest(pipeline: $pipeline, atCheckpoint: $checkpoint)
      }`;
      return askFor("pipelineDigest", query, { pipeline, checkpoint }, { signal });
    },
    tokens: ({ signal } = {}) => {
      const query = `query ($after: String) {
        tokens(after: $after, limit: ${ROWS_PER_PAGE}) { ${TOKEN} }
      }`;
      const rowsOf = rowsIn<Token>("tokens");
      return paged(query, {}, { rowsOf, cursorOf: ({ coinType }) => coinType, signal });
    },
    status: ({ signal } = {}) => statusNow({ signal }),
    balance: (of) =>
      ofToken(
        of,
        "tokenBalance",
        "owner balance timelockBalance objectCount timelockCount timelocksIncluded decimals",
      ),
    roles: (of) => ofToken(of, "walletRoles", "owner roles roleBits"),
    capTable,
    holders: listOf<Holder>(
      "tokenHolders",
      "owner balance timelockBalance timelocksIncluded",
      ({ balance, owner }) => `${balance}:${owner}`,
    ),
    objects: listOf<TokenObject>(
      "tokenObjects",
      "objectId owner balance version checkpoint",
      ({ objectId }) => objectId,
      "String!",
    ),
    grants: listOf<Grant>(
      "tokenTimelocks",
      GRANT,
      ({ commencementTimestampMs, objectId }) => `${commencementTimestampMs}:${objectId}`,
      "String",
    ),
    stateRanges: ({ kind, coinType, checkpoint, signal }) => {
      const query = `query ($kind: StateKind!, $coinType: String!, $atCheckpoint: String!, $after: String) {
        stateRanges(kind: $kind, coinType: $coinType, atCheckpoint: $atCheckpoint, after: $after,
          limit: ${ROWS_PER_PAGE}) { checkpoint until line cursor }
      }`;
      const variables = { kind, coinType, atCheckpoint: checkpoint.toString() };
      const rowsOf = rowsIn<StateRange>("stateRanges");
      return paged(query, variables, { rowsOf, cursorOf: ({ cursor }) => cursor, signal });
    },
    tokenActivity: events<TokenActivity, bigint>("tokenActivity", ACTIVITY, byPosition),
    holderEvents: events<HolderEvent, bigint>("holderEvents", HOLDER_EVENT, byPosition),
    roleEvents: events<RoleEvent, bigint>("roleEvents", ROLE_EVENT, byPosition),
    balanceChanges: events<BalanceChange, string>("balanceChanges", CHANGE, {
      cursorOf: ({ cursor }) => cursor,
      beginning: "0:0x0:TOKENS",
      byOwner: true,
    }),
    statusChanges: ({ signal } = {}) => {
      const query = `subscription { indexerStatus { ${STATUS} } }`;
      const polled = async function* polled() {
        for (let before: string | undefined; ; ) {
          const now = await statusNow({ signal, attempts: Number.POSITIVE_INFINITY });
          const marks = now.map(({ pipeline, checkpoint }) => `${pipeline} ${checkpoint}`).join();
          if (marks !== before) yield now;
          before = marks;
          await pause(POLL_MS, signal);
        }
      };
      const pick = (data: Data) => data.indexerStatus as readonly PipelineStatus[];
      return followed(query, {}, { pick, signal, polled });
    },
  };
};

const rowsIn =
  <Row>(name: string) =>
  (data: Data) =>
    (data[name] ?? undefined) as readonly Row[] | undefined;
