/** A register, read: typed queries, lists at one checkpoint, and events as they happen. */
import {
  BookError,
  jsonOf,
  NO_ANSWER,
  pause,
  pauseBefore,
  refusalOf,
  retrying,
  send,
} from "./asking.mjs";
import { eventsOf } from "./server-sent.mjs";
import { exact } from "./values.mjs";

const PAGE = 1_000;

/** Attempts of one request, as long as each could have helped. */
const ATTEMPTS = 6;

/** The service says something every 20 seconds, if only that it is there. */
const SILENT_MS = 60_000;

/** Between two questions where a service offers no subscriptions. */
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

/** A key that does not open: asking in another way changes nothing. */
const DENIED = new Set([401, 403]);

/** A service, or what stands before it, answered a subscription with something else than a stream. */
class NoStreamError extends Error {
  name = "NoStreamError";

  constructor(cause) {
    super(cause.message, { cause });
  }
}

export const createBook = ({ url, key, fetch = globalThis.fetch }) => {
  const endpoint = new URL("/graphql", url).href;
  const post = (query, variables, signal, accept) =>
    send(fetch, endpoint, {
      method: "POST",
      headers: { "content-type": "application/json", accept, "x-api-key": key },
      body: JSON.stringify({ query, variables }, (_name, value) =>
        typeof value === "bigint" ? value.toString() : value,
      ),
      signal,
    });

  const ask = (query, variables = {}, { signal, attempts = ATTEMPTS } = {}) =>
    retrying(attempts, signal, async () => {
      const response = await post(query, variables, signal, "application/json");
      const body = await jsonOf(response, signal);
      if (!response.ok || body?.errors !== undefined || body?.data == null) {
        throw refusalOf(response, body);
      }
      return exact(body.data);
    });

  /** Arguments of one checkpoint, given or the newest: lists of it stay whole while the chain goes on. */
  const fixed = async ({ at, signal }) => {
    if (at?.checkpoint !== undefined) return { atCheckpoint: String(at.checkpoint) };
    if (at?.time !== undefined) {
      return { atTimestamp: String(Math.floor(at.time.getTime() / 1_000)) };
    }
    const { _meta } = await ask("{ _meta { checkpoint } }", {}, { signal });
    if (_meta?.checkpoint == null) {
      throw new BookError("nothing is indexed yet", { status: 200, code: "NOT_YET_INDEXED" });
    }
    return { atCheckpoint: _meta.checkpoint.toString() };
  };

  /** All rows of a list, page after page. */
  async function* paged(query, variables, { rowsOf, cursorOf, signal, attempts, first }) {
    let after = first ?? null;
    for (;;) {
      const rows = rowsOf(await ask(query, { ...variables, after }, { signal, attempts })) ?? [];
      yield* rows;
      if (rows.length < PAGE) return;
      after = cursorOf(rows.at(-1));
    }
  }

  const listOf = (name, extra, fields, cursorOf) =>
    async function* list({ coinType, owner, at, signal }) {
      const when = await fixed({ at, signal });
      const query = `query ($coinType: String!, $atCheckpoint: String, $atTimestamp: String,
          $after: String${extra === "" ? "" : `, $owner: String${extra}`}) {
        ${name}(coinType: $coinType, atCheckpoint: $atCheckpoint, atTimestamp: $atTimestamp,
          after: $after, limit: ${PAGE}${extra === "" ? "" : ", owner: $owner"}) { ${fields} }
      }`;
      const variables = { coinType, ...when, ...(extra === "" ? {} : { owner }) };
      yield* paged(query, variables, { rowsOf: (data) => data[name], cursorOf, signal });
    };

  const capTable = async ({ coinType, at, holder, having, signal }) => {
    // Named only where they are given: a service of a version before has no such arguments.
    const given = Object.entries({
      holder: ["String", holder?.toString()],
      having: ["RowsWith", having],
    }).filter(([, [, value]]) => value !== undefined);
    const which = Object.fromEntries(given.map(([name, [, value]]) => [name, value]));
    const head = `coinType decimals checkpoint checkpointTimestamp checkpointDigest totalSupply issued
      holderCount root followCursor`;
    const query = `query ($coinType: String!, $atCheckpoint: String, $atTimestamp: String,
        $after: String${given.map(([name, [type]]) => `, $${name}: ${type}`).join("")}) {
      capTable(coinType: $coinType, atCheckpoint: $atCheckpoint, atTimestamp: $atTimestamp,
        after: $after, limit: ${PAGE}${given.map(([name]) => `, ${name}: $${name}`).join("")}) { ${head} rows { ${ROW} } }
    }`;
    const when = at === undefined ? {} : await fixed({ at, signal });
    const first = (await ask(query, { coinType, ...which, ...when }, { signal })).capTable;
    if (first === null) return null;
    const { rows, ...totals } = first;
    return {
      ...totals,
      async *[Symbol.asyncIterator]() {
        yield* rows;
        if (rows.length < PAGE) return;
        yield* paged(
          query,
          { coinType, ...which, atCheckpoint: totals.checkpoint.toString() },
          {
            rowsOf: (data) => data.capTable?.rows,
            cursorOf: ({ cursor }) => cursor,
            signal,
            first: rows.at(-1).cursor,
          },
        );
      },
    };
  };

  /** What one connection brings; returns where the service ends it to be connected to again. */
  async function* connection(query, variables, signal) {
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
      const { data: told, errors } = JSON.parse(data);
      if (errors === undefined) {
        yield exact(told);
        continue;
      }
      const code = errors[0]?.extensions?.code ?? "";
      if (code === "RECONNECT" || code === "SLOW_CONSUMER") return;
      throw new BookError(errors[0]?.message ?? "the subscription ended", { status: 200, code });
    }
  }

  /**
   * Events from a place on, for ever: connects again, behind the last one given.
   * @param polled asks for what came behind a place instead, again and again, of a service without streams
   */
  async function* followed(query, variables, { pick, cursorOf, after, signal, polled }) {
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
        // Ended in good order, such as for an upgrade: at once, and slower while that repeats.
        signal?.throwIfAborted();
        await pause(pauseBefore(failures), signal);
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof NoStreamError && !(hasStreamed && error.cause.code === NO_ANSWER)) {
          // Where the question itself is at fault, asking it plainly brings the same refusal.
          yield* polled(place, error.cause);
          return;
        }
        const refusal = error instanceof NoStreamError ? error.cause : error;
        if (!(refusal instanceof BookError) || refusal.remedy !== "retry") throw error;
        await pause(pauseBefore(failures, refusal), signal);
      }
      failures += 1;
    }
  }

  const events = (name, fields, { cursorOf, beginning, byOwner = false }) => {
    const declared = byOwner ? ", $owner: String" : "";
    const given = byOwner ? ", owner: $owner" : "";
    return async function* each({ coinType, coinTypes, owner, after, follow = true, signal }) {
      // One coin type is asked for as a service of a version before knows it.
      const isOne = coinType !== undefined;
      if (!isOne && !follow) {
        throw new BookError("a list is of one coinType; several, or all, can be followed", {
          code: "BAD_USER_INPUT",
        });
      }
      const variables = { ...(isOne ? { coinType } : { coinTypes }), ...(byOwner && { owner }) };
      const place = after === undefined ? beginning : String(after);
      const asked = `query ($coinType: String!, $after: String${declared}) {
        ${name}(coinType: $coinType, after: $after, limit: ${PAGE}${given}) { ${fields} }
      }`;
      const rest = { rowsOf: (data) => data[name], cursorOf, signal };
      if (follow) {
        const [which, passed] = isOne
          ? ["$coinType: String!", "coinType: $coinType"]
          : ["$coinTypes: [String!]", "coinTypes: $coinTypes"];
        const query = `subscription (${which}, $after: String${declared}) {
          ${name}(${passed}, after: $after${given}) { ${fields} }
        }`;
        const pick = (data) => data[name];
        const polled = async function* polled(from, cause) {
          if (!isOne) throw cause;
          for (let first = from; ; ) {
            const endless = { ...rest, first, attempts: Number.POSITIVE_INFINITY };
            for await (const row of paged(asked, variables, endless)) {
              first = cursorOf(row);
              yield row;
            }
            await pause(POLL_MS, signal);
          }
        };
        yield* followed(query, variables, { pick, cursorOf, after: place, signal, polled });
        return;
      }
      yield* paged(asked, variables, { ...rest, first: place });
    };
  };

  const byPosition = { cursorOf: ({ position }) => position.toString(), beginning: "0" };

  const statusNow = async (asking) =>
    (await ask(`{ indexerStatus { ${STATUS} } }`, {}, asking)).indexerStatus;

  return {
    ask,
    meta: async ({ at, signal } = {}) => {
      const query = `query ($atCheckpoint: String, $atTimestamp: String) {
        _meta(atCheckpoint: $atCheckpoint, atTimestamp: $atTimestamp) { ${META} }
      }`;
      return (await ask(query, at === undefined ? {} : await fixed({ at, signal }), { signal }))
        ._meta;
    },
    token: async ({ coinType, at, signal }) => {
      const query = `query ($coinType: String!, $atCheckpoint: String, $atTimestamp: String) {
        token(coinType: $coinType, atCheckpoint: $atCheckpoint, atTimestamp: $atTimestamp) {
          ${TOKEN} holderCount ownerCount
        }
      }`;
      const when = at === undefined ? {} : await fixed({ at, signal });
      return (await ask(query, { coinType, ...when }, { signal })).token;
    },
    pipelineDigest: async ({ pipeline, checkpoint, signal }) => {
      const query = `query ($pipeline: String!, $checkpoint: String!) {
        pipelineDigest(pipeline: $pipeline, atCheckpoint: $checkpoint)
      }`;
      return (await ask(query, { pipeline, checkpoint }, { signal })).pipelineDigest;
    },
    async *tokens({ signal } = {}) {
      const query = `query ($after: String) { tokens(after: $after, limit: ${PAGE}) { ${TOKEN} } }`;
      yield* paged(
        query,
        {},
        {
          rowsOf: (data) => data.tokens,
          cursorOf: ({ coinType }) => coinType,
          signal,
        },
      );
    },
    status: ({ signal } = {}) => statusNow({ signal }),
    balance: async ({ coinType, owner, at, signal }) => {
      const query = `query ($coinType: String!, $owner: String!, $atCheckpoint: String,
          $atTimestamp: String) {
        tokenBalance(coinType: $coinType, owner: $owner, atCheckpoint: $atCheckpoint,
          atTimestamp: $atTimestamp) {
          owner balance timelockBalance objectCount timelockCount timelocksIncluded decimals
        }
      }`;
      const when = at === undefined ? {} : await fixed({ at, signal });
      return (await ask(query, { coinType, owner, ...when }, { signal })).tokenBalance;
    },
    roles: async ({ coinType, at, signal }) => {
      const query = `query ($coinType: String!, $atCheckpoint: String, $atTimestamp: String) {
        walletRoles(coinType: $coinType, atCheckpoint: $atCheckpoint, atTimestamp: $atTimestamp) {
          owner roles roleBits
        }
      }`;
      const when = at === undefined ? {} : await fixed({ at, signal });
      return (await ask(query, { coinType, ...when }, { signal })).walletRoles;
    },
    capTable,
    holders: listOf(
      "tokenHolders",
      "",
      "owner balance timelockBalance timelocksIncluded",
      ({ balance, owner }) => `${balance}:${owner}`,
    ),
    objects: listOf(
      "tokenObjects",
      "!",
      "objectId owner balance version checkpoint",
      ({ objectId }) => objectId,
    ),
    grants: listOf(
      "tokenTimelocks",
      " ",
      GRANT,
      ({ commencementTimestampMs, objectId }) => `${commencementTimestampMs}:${objectId}`,
    ),
    async *stateRanges({ kind, coinType, checkpoint, signal }) {
      const query = `query ($kind: StateKind!, $coinType: String!, $atCheckpoint: String!, $after: String) {
        stateRanges(kind: $kind, coinType: $coinType, atCheckpoint: $atCheckpoint, after: $after,
          limit: ${PAGE}) { checkpoint until line cursor }
      }`;
      const variables = { kind, coinType, atCheckpoint: checkpoint.toString() };
      yield* paged(query, variables, {
        rowsOf: (data) => data.stateRanges,
        cursorOf: ({ cursor }) => cursor,
        signal,
      });
    },
    tokenActivity: events("tokenActivity", ACTIVITY, byPosition),
    holderEvents: events("holderEvents", HOLDER_EVENT, byPosition),
    roleEvents: events("roleEvents", ROLE_EVENT, byPosition),
    balanceChanges: events("balanceChanges", CHANGE, {
      cursorOf: ({ cursor }) => cursor,
      beginning: "0:0x0:TOKENS",
      byOwner: true,
    }),
    async *statusChanges({ signal } = {}) {
      const query = `subscription { indexerStatus { ${STATUS} } }`;
      const pick = (data) => data.indexerStatus;
      const polled = async function* polled() {
        for (let before; ; ) {
          const now = await statusNow({ signal, attempts: Number.POSITIVE_INFINITY });
          const marks = now.map(({ pipeline, checkpoint }) => `${pipeline} ${checkpoint}`).join();
          if (marks !== before) yield now;
          before = marks;
          await pause(POLL_MS, signal);
        }
      };
      yield* followed(query, {}, { pick, signal, polled });
    },
  };
};
