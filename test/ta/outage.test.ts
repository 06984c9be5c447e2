import { expect, test } from "vitest";
import { errorAnswerSchema } from "../../src/ta/api/answer-schema.ts";
import { breakableWay } from "../database/outage.ts";
import { until } from "../lanes/until.ts";
import { startApi } from "./api.ts";
import { bodyOf, WALLET } from "./submissions.ts";

test("while the database is away every answer is 503 with Retry-After, and afterwards everything resumes", async () => {
  let breaking: Awaited<ReturnType<typeof breakableWay>> | undefined;
  await using api = await startApi({
    way: async (url) => {
      breaking = await breakableWay(url);
      return breaking.url;
    },
  });
  await using way = breaking;
  const { json: accepted } = await api.post("/api/v1/investor/kyc", bodyOf());
  const key = { headers: { "x-api-key": api.keys.publicKey } };
  const asked = [
    () => api.post("/api/v1/investor/whitelist", bodyOf()),
    () => api.post("/api/v1/investor/kyc", bodyOf({ id: "inv-2" })),
    () => api.get(`/api/v1/requests/${accepted.requestId}`),
    () => api.get("/api/v1/callbacks"),
    () => api.post("/api/v1/callbacks/none/redeliver", {}),
    () => api.send(`/api/v1/investor/whitelist_status/${WALLET}`, key),
    () => api.send("/api/v1/health", {}),
  ];
  await way?.leave();
  // Several times: the longer it lasts, the longer the driver pauses before it looks again.
  for (const ask of [...asked, ...asked, ...asked]) {
    const began = performance.now();
    const answer = await ask();
    expect([answer.status, answer.headers.get("retry-after")], answer.text).toEqual([503, "5"]);
    expect(performance.now() - began).toBeLessThan(15_000);
    const { error, details } = errorAnswerSchema.strict().parse(answer.json);
    expect(error).toBe("INTERNAL_ERROR");
    // Nothing of what the driver says about hosts and ports.
    expect(details).toBe("the database does not answer in time; send this again in a few seconds");
  }
  await way?.comeBack();
  await until(
    "the request accepted",
    () => api.post("/api/v1/investor/whitelist", bodyOf()),
    ({ status }) => status === 201,
  );
});
