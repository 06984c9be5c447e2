import { readFile } from "node:fs/promises";
import { buildSchema } from "graphql";
import { expect, test } from "vitest";
import { declaredReads } from "../../src/graphql/field-reads.ts";
import { narrowed, printedSchema, schema } from "../../src/graphql/schema.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";

const read = (path: string) => readFile(new URL(path, import.meta.url), "utf8");

test("schema.graphql matches the code; otherwise run npm run schema", async () => {
  expect(await read("../../schema.graphql")).toBe(printedSchema());
});

test("nothing released is removed or narrowed", async () => {
  expect(narrowed(await read("schema.released.graphql"), schema)).toEqual([]);
});

test("each query that a pipeline lists is in the schema, and declares that it reads the pipeline", () => {
  for (const { name, queries } of ledgerPipelines) {
    for (const query of queries) {
      const field = schema.getQueryType()?.getFields()[query];
      const read = field && declaredReads(field)?.pipelines({});
      expect(
        read?.map((pipeline) => pipeline.name),
        query,
      ).toContain(name);
    }
  }
});

test("everything in the specification exists with its types", () => {
  const specification = `
    enum SortOrder { ASC DESC }
    type TokenActivity {
      activityType: String! txDigest: String! eventSeq: Int! checkpoint: String!
      checkpointTimestamp: String! amount: String! coinType: String! decimals: Int
      fromAddress: String toAddress: String signer: String! tokenObjectId: String!
    }
    type TokenBalance {
      owner: String! balance: String! objectCount: Int! timelockBalance: String!
      timelockCount: Int! timelocksIncluded: Boolean! decimals: Int
    }
    type TokenObject {
      objectId: String! owner: String! balance: String! version: String! checkpoint: String!
    }
    type TokenHolder {
      owner: String! balance: String! timelockBalance: String! timelocksIncluded: Boolean!
    }
    type TokenTimelock {
      objectId: String! owner: String! funder: String! releaseScheduleId: String!
      releaseCount: String! delayUntilFirstReleaseMs: String! periodBetweenReleasesMs: String!
      initialReleasePortionBps: String! commencementTimestampMs: String! totalAmount: String!
      tokensTransferred: String! leftBalance: String! decimals: Int
    }
    type HolderEvent {
      eventType: String! eventId: String! position: String! holderId: String address: String
      groupId: String isFrozen: Boolean checkpointTimestamp: String!
    }
    type WalletRole { owner: String! roleBits: Int! roles: [String!]! }
    type RoleEvent {
      eventId: String! position: String! owner: String! role: String! roleBit: Int!
      granted: Boolean! signer: String! checkpointTimestamp: String!
    }
    type IndexerStatus {
      pipeline: String! checkpoint: String checkpointTimestamp: String ageSeconds: Int!
    }
    type Query {
      tokenActivity(coinType: String!, limit: Int = 100, offset: Int = 0, order: SortOrder = ASC): [TokenActivity!]
      tokenBalance(coinType: String!, owner: String!): TokenBalance
      tokenObjects(coinType: String!, owner: String!, limit: Int = 100): [TokenObject!]
      tokenHolders(coinType: String!, limit: Int = 100): [TokenHolder!]
      tokenTimelocks(coinType: String!, owner: String, limit: Int = 100): [TokenTimelock!]
      holderEvents(coinType: String!, sinceTimestamp: String, limit: Int = 100): [HolderEvent!]
      walletRoles(coinType: String!): [WalletRole!]
      roleEvents(coinType: String!, sinceTimestamp: String, limit: Int = 100): [RoleEvent!]
      indexerStatus: [IndexerStatus!]
    }`;
  expect(narrowed(specification, schema)).toEqual([]);
});

test("the guard detects removals, narrowings and changed defaults, and allows additions", () => {
  const released = "type Query { a(n: Int = 100): String!, b: Int }";
  const faults = (text: string) => narrowed(released, buildSchema(text)).length;
  expect(faults("type Query { a(n: Int = 100): String! }")).toBe(1);
  expect(faults("type Query { a(n: Int = 100): String, b: Int }")).toBe(1);
  expect(faults("type Query { a(n: Int! = 100): String!, b: Int }")).toBe(1);
  expect(faults("type Query { a(n: Int = 50): String!, b: Int }")).toBe(1);
  expect(faults("type Query { a(n: Int = 100, m: Int!): String!, b: Int }")).toBe(1);
  expect(faults("type Query { a(n: Int = 100, m: Int): String!, b: Int!, c: Int }")).toBe(0);
});
