/** What callers ask of a service, and what it answers: the same before and after a migration. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { type JsonValue, signRequest } from "../../client/index.ts";

/** Who asks, and what about. */
export type Callers = {
  readonly graphqlKey: string;
  readonly projectKey: string;
  /** Of the transfer agent's asset. */
  readonly secretKey: string;
  readonly coinTypes: readonly string[];
  /** Requests, answered and open. */
  readonly requestIds: readonly string[];
};

/** Every query but `indexerStatus`, whose ages go by the clock; balances and objects are asked of holders. */
const GRAPHQL = `
  query ($coin: String!, $owner: String!) {
    tokenActivity(coinType: $coin, limit: 1000) {
      activityType amount checkpoint checkpointTimestamp coinType decimals eventId eventSeq
      fromAddress position signer toAddress
    }
    tokenHolders(coinType: $coin, limit: 1000) { owner balance timelockBalance timelocksIncluded }
    tokenBalance(coinType: $coin, owner: $owner) {
      balance decimals objectCount owner timelockBalance timelockCount timelocksIncluded
    }
    tokenObjects(coinType: $coin, owner: $owner, limit: 1000) {
      balance checkpoint objectId owner version
    }
    tokenTimelocks(coinType: $coin, limit: 1000) {
      commencementTimestampMs decimals delayUntilFirstReleaseMs funder initialReleasePortionBps
      leftBalance objectId owner periodBetweenReleasesMs releaseCount releaseScheduleId
      tokensTransferred
    }
    holderEvents(coinType: $coin, limit: 1000) {
      address checkpointTimestamp eventId eventType groupId holderId isFrozen position
    }
    roleEvents(coinType: $coin, limit: 1000) {
      checkpointTimestamp eventId granted owner position role roleBit signer
    }
    walletRoles(coinType: $coin) { owner roleBits roles }
  }`;

const holders = z.object({
  data: z.object({ tokenHolders: z.array(z.object({ owner: z.string() })) }),
});

/** An answer as what is kept of it: how many rows each query gave, and a digest of all of it. */
type Shortened = { readonly rows: Readonly<Record<string, number>>; readonly sha256: string };

const answer = z.object({ data: z.record(z.string(), z.unknown()), errors: z.never().optional() });

const shortened = (given: unknown): Shortened => {
  const { data } = answer.parse(given);
  const rows = Object.entries(data).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.length : 1,
  ]);
  const sha256 = createHash("sha256").update(JSON.stringify(data)).digest("hex");
  return { rows: Object.fromEntries(rows), sha256 };
};

const json = async (response: Response): Promise<unknown> => {
  const body: unknown = await response.json();
  if (!response.ok) throw new Error(`${response.status}: ${JSON.stringify(body)}`);
  return body;
};

/** One GraphQL query over HTTP. */
export const askGraphql = async (
  url: string,
  key: string,
  query: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<unknown> =>
  json(
    await fetch(`${url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key },
      body: JSON.stringify({ query, variables }),
    }),
  );

/** A signed GET of the transfer agent. */
export const getSigned = async (url: string, secretKey: string, path: string): Promise<unknown> => {
  const { headers } = signRequest({ secretKey, method: "GET", path });
  return json(await fetch(`${url}${path}`, { headers }));
};

/** A signed POST of the transfer agent; returns the answer. */
export const postSigned = async (
  url: string,
  secretKey: string,
  path: string,
  body: JsonValue,
): Promise<unknown> => {
  const signed = signRequest({ secretKey, body });
  return json(
    await fetch(`${url}${path}`, { method: "POST", headers: signed.headers, body: signed.body }),
  );
};

const transferEvents = async (url: string, key: string): Promise<unknown> =>
  json(await fetch(`${url}/r/api/v2/transfer_events`, { headers: { "x-project-api-key": key } }));

const requestRead = z.object({ requestId: z.string(), status: z.string() });

/** Of a delivery, what no version may change. */
const deliveries = z.array(
  z.object({
    id: z.string(),
    requestId: z.string(),
    status: z.string(),
    createdAt: z.string(),
    attempts: z.array(z.object({ number: z.number().optional() })),
  }),
);

/** Everything that is asked, with its answers. */
export const answersOf = async (url: string, callers: Callers) => {
  const { graphqlKey, projectKey, secretKey, coinTypes, requestIds } = callers;
  const graphql: Shortened[] = [];
  for (const coin of coinTypes) {
    const first = holders.parse(
      await askGraphql(
        url,
        graphqlKey,
        "query ($coin: String!) { tokenHolders(coinType: $coin, limit: 3) { owner } }",
        { coin },
      ),
    );
    for (const { owner } of first.data.tokenHolders) {
      graphql.push(shortened(await askGraphql(url, graphqlKey, GRAPHQL, { coin, owner })));
    }
  }
  const requests = [];
  for (const id of requestIds) {
    requests.push(requestRead.parse(await getSigned(url, secretKey, `/api/v1/requests/${id}`)));
  }
  const listed = deliveries.parse(await getSigned(url, secretKey, "/api/v1/callbacks"));
  return {
    graphql,
    transferEvents: await transferEvents(url, projectKey),
    requests,
    deliveries: listed.map(({ attempts, ...delivery }) => ({
      ...delivery,
      attempts: attempts.length,
    })),
  };
};
