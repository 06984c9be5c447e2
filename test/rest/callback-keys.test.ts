/** `serve rest` on its own, beside an `index`: receivers of transfer events ask it for the keys. */
import { randomBytes } from "node:crypto";
import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, test } from "vitest";
import { z } from "zod";
import { IMMEDIATELY, openSigningKeys } from "../../src/callbacks/signing-keys.ts";
import { callbackKeysAnswer } from "../../src/http/callback-keys.ts";
import { until } from "../lanes/until.ts";
import { freshDatabase } from "../postgres.ts";
import { startProgram, temporaryFolder } from "../service/process.ts";

test("serve rest alone shows the callback keys without its own master key, and documents where", async () => {
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  await using program = startProgram(["serve", "rest"], {
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    SECURITY_TOKEN_PACKAGES: "0x5",
    PORT: "0",
  });
  const { url } = await until(
    "the server",
    () => ({
      url: /"url":"([^"]+)"/.exec(program.printed.stderr)?.[1],
      printed: program.printed.stderr,
    }),
    ({ url }) => url !== undefined,
    60_000,
  );
  const path = `${url}/api/v1/callback_pk`;
  const before = await fetch(path);
  expect([before.status, before.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await before.json()).toMatchObject({ details: expect.stringMatching(/ask again/) });

  const keys = await openSigningKeys(database, randomBytes(32));
  await keys.rotate();
  const shown = await until(
    "the keys",
    async () => await (await fetch(path)).json(),
    (answer) => "keys" in answer,
  );
  expect(callbackKeysAnswer.strict().parse(shown)).toEqual(await keys.publicKeys());
  expect(shown.keys).toHaveLength(2);
  const replaced = await keys.rotate(IMMEDIATELY);
  await until(
    "the key that replaced them",
    async () => await (await fetch(path)).json(),
    (answer) => answer.publicKey === replaced.publicKey && answer.keys.length === 1,
  );

  const wrong = await fetch(path, { method: "POST" });
  expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  const document: object = await (await fetch(`${url}/openapi.json`)).json();
  expect(await new Validator().validate({ ...document })).toMatchObject({ valid: true });
  const { paths } = z.object({ paths: z.record(z.string(), z.unknown()) }).parse(document);
  expect(Object.keys(paths).sort()).toEqual([
    "/api/v1/callback_pk",
    "/deployment-keys",
    "/log-heads",
    "/r/api/v2/transfer_events",
    "/roots",
    "/sequence",
  ]);
}, 120_000);
