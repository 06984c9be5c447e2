/** An asset whose requests are asked for and ended without a service around them. */
import { randomBytes } from "node:crypto";
import type { Database } from "../../src/database/connect.ts";
import { applyCallbackAddresses } from "../../src/service/callbacks.ts";
import { ringOf } from "../../src/ta/pii/pii-keys.ts";
import { openVault } from "../../src/ta/pii/vault.ts";
import { recordEnding } from "../../src/ta/processing/record.ts";
import { readOpen } from "../../src/ta/processing/request.ts";
import { createAcceptance } from "../../src/ta/requests/accept.ts";
import { registerKey } from "../../src/ta/requests/caller-keys.ts";
import { fingerprints } from "../../src/ta/requests/fingerprint.ts";
import { investorLanes } from "../../src/ta/requests/lanes.ts";
import { LOCAL } from "../callbacks/sender.ts";
import { submission } from "./submissions.ts";

export const ASSET = "acme-sui";

/** The assets file with this asset alone, or without it. */
export const apply = (database: Database, callbackUrl: string | undefined) => {
  const token = {
    name: ASSET,
    ledger: "sui" as const,
    coinType: "0x5::acme::ACME",
    whitelistGroupId: 1,
  };
  const tokens = callbackUrl === undefined ? [] : [{ ...token, ta: { callbackUrl } }];
  return applyCallbackAddresses(database, LOCAL, { projects: [{ name: "acme", tokens }] });
};

/** Asks and ends requests as the interface and the processing do; returns their ids. */
export const office = (database: Database, piiKey = randomBytes(32)) => {
  const vault = openVault(database, ringOf([{ id: "test", key: piiKey }]));
  const accept = createAcceptance({ database, vault });
  const fingerprint = fingerprints(randomBytes(32));
  const { sql } = database;
  const newKey = async (callbackUrl?: string) =>
    (await registerKey(database, { asset: ASSET, callbackUrl })).id;
  const result = async (keyId: string, investorId = "inv-1"): Promise<string> => {
    const answer = await accept({
      asset: ASSET,
      kind: "kyc",
      submission: submission({ id: investorId }),
      fingerprint: fingerprint({
        keyId,
        path: "/api/v1/investor/kyc",
        canonicalBody: randomBytes(16),
        idempotencyKey: undefined,
      }),
    });
    const { requestId } = JSON.parse(answer.answer) as { requestId: string };
    const [lane] = await sql<{ id: bigint }[]>`
      select id from ta_lanes where asset = ${ASSET} and investor_id = ${investorId}`;
    const claim = await investorLanes.claim(sql, lane?.id ?? 0n, 60_000);
    const request = claim && (await readOpen(sql, claim)).request;
    if (claim === undefined || request?.id !== requestId) throw new Error("not in its turn");
    await recordEnding({ database, claim }, request, { status: "SUCCESS", message: "stored" });
    await investorLanes.leave(sql, claim, 0);
    return requestId;
  };
  return { newKey, result };
};

export const idsOf = (requests: readonly string[]) => requests.map((id) => `ta-${id}`);
