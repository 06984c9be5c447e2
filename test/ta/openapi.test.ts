import { expect, test } from "vitest";
import type { z } from "zod";
import { registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { enqueueCallback } from "../../src/callbacks/enqueue.ts";
import { callbackKeysAnswer } from "../../src/http/callback-keys.ts";
import { findKey } from "../../src/http/keys.ts";
import {
  acceptedAnswer,
  deliveryAnswer,
  errorAnswerSchema,
  healthAnswer,
  requestAnswer,
  whitelistStatusAnswer,
} from "../../src/ta/api/answer-schema.ts";
import { startApi } from "./api.ts";
import { bodyOf, WALLET } from "./submissions.ts";

test("answers match the OpenAPI description, which names every path", async () => {
  await using api = await startApi();
  const fits = (schema: z.ZodObject, value: unknown) => schema.strict().parse(value);
  const accepted = await api.post("/api/v1/investor/kyc", bodyOf());
  fits(acceptedAnswer, accepted.json);
  fits(requestAnswer, (await api.get(`/api/v1/requests/${accepted.json.requestId}`)).json);
  const status = await api.get(`/api/v1/investor/whitelist_status/${WALLET}`);
  fits(whitelistStatusAnswer, status.json);
  fits(callbackKeysAnswer, (await api.send("/api/v1/callback_pk", {})).json);
  fits(healthAnswer, (await api.send("/api/v1/health", {})).json);
  fits(
    errorAnswerSchema,
    (await api.post("/api/v1/investor/kyc", bodyOf({ proofOfAddress: {} }))).json,
  );

  const endpoint = "ta:acme-sui";
  await registerEndpoint(
    api.database,
    { allowPrivate: true },
    { key: endpoint, url: "http://127.0.0.1:9/" },
  );
  const key = await findKey(api.database, api.keys.publicKey);
  await api.database.transaction((tx) =>
    enqueueCallback(tx, {
      endpoint,
      lane: "1",
      id: "m-1",
      type: "kyc",
      reference: "r-1",
      ...(key !== null && { keyId: key.id }),
      body: {},
    }),
  );
  const deliveries = await api.get("/api/v1/callbacks");
  deliveryAnswer.array().nonempty().parse(deliveries.json);

  const { json } = await api.send("/openapi.json", {});
  expect(json.openapi).toBe("3.1.1");
  expect(Object.keys(json.paths ?? {}).sort()).toEqual([
    "/api/v1/callback_pk",
    "/api/v1/callbacks",
    "/api/v1/callbacks/{id}/redeliver",
    "/api/v1/health",
    "/api/v1/investor/kyc",
    "/api/v1/investor/whitelist",
    "/api/v1/investor/whitelist_status/{wallet_address}",
    "/api/v1/requests",
    "/api/v1/requests/{requestId}",
    "/transfer_agent_api/v1/approve_investor",
    "/transfer_agent_api/v1/check_whitelist/{address}",
    "/transfer_agent_api/v1/get_nonce",
    "/transfer_agent_api/v1/propose_tx",
  ]);
  for (const path of ["whitelist", "kyc"]) {
    expect(json.paths).toHaveProperty(
      ["/api/v1/investor/".concat(path), "post", "responses", "503"],
      {
        description: expect.stringContaining("no room"),
        headers: expect.objectContaining({
          "Retry-After": { description: "Seconds to wait.", schema: { type: "integer" } },
        }),
        content: {
          "application/json": {
            schema: { $ref: "#/components/schemas/TaError" },
            example: expect.objectContaining({ error: "INTERNAL_ERROR" }),
          },
        },
      },
    );
  }
  // Every reference leads somewhere.
  const text = JSON.stringify(json);
  const names = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(20);
  for (const name of new Set(names)) expect(text).toContain(`"${name}":{`);
});
