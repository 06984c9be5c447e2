/** A service whose deployment's key is kept by a signer outside, which is away when it starts. */
import { expect, test } from "vitest";
import { z } from "zod";
import { startSigner, TOKEN } from "../audit/signers.ts";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase } from "../postgres.ts";
import { eventually, startProgram, temporaryFolder } from "./process.ts";

const health = z.object({
  pipelines: z.array(z.object({ checkpoint: z.string().nullable() })),
  notes: z.array(z.object({ reason: z.string() })).default([]),
});
const heads = z.object({ heads: z.array(z.object({ keyId: z.string() })) });
const keys = z.object({ keys: z.array(z.object({ publicKey: z.string() })) });

test("a service that starts while its signer is away indexes, serves and reports it in /health, signs when the signer is back, and reports a key that follows", async () => {
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  await using signer = await startSigner();
  await signer.stop();
  await using program = startProgram(["start"], {
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    DEMO_HISTORY: "60",
    DEMO_CHECKPOINTS_PER_SECOND: "1",
    ...signer.settings,
  });
  const [, url = ""] = await program.sees(/GraphQL\s+(http\S+)\/graphql/);
  const get = async (path: string) => (await fetch(`${url}${path}`)).json();
  const isAway = ({ reason }: { readonly reason: string }) =>
    /keeps the deployment's key, does not answer/.test(reason);
  await eventually("an indexed log, and a note", async () => {
    const seen = health.parse(await get("/health"));
    const isRead = seen.pipelines.every(({ checkpoint }) => Number(checkpoint ?? -1) >= 59);
    return isRead && seen.notes.filter(isAway).length === 1 ? { done: seen } : { seen };
  });
  expect(heads.parse(await get("/log-heads"))).toEqual({ heads: [] });
  expect(keys.parse(await get("/deployment-keys"))).toEqual({ keys: [] });
  await signer.start();
  await eventually("a signed head, and no note", async () => {
    const signed = heads.parse(await get("/log-heads"));
    const { notes } = health.parse(await get("/health"));
    const isDone = signed.heads.length > 0 && !notes.some(isAway);
    return isDone ? { done: signed } : { seen: { signed, notes } };
  });
  expect(keys.parse(await get("/deployment-keys"))).toEqual({
    keys: [{ publicKey: signer.publicKey }],
  });

  await using next = await startSigner();
  const rotating = {
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    DEPLOYMENT_SIGNER_BEFORE_TOKEN: TOKEN,
    ...next.settings,
  };
  const rotated = await runCommand(["keys", "rotate", "--signer-before", signer.url], rotating);
  expect(rotated).toMatchObject({ code: 0 });
  await eventually("a note that the service has to be started again", async () => {
    const { notes } = health.parse(await get("/health"));
    const isSaid = notes.some(({ reason }) => /continues with the key .* Restart it/.test(reason));
    return isSaid ? { done: notes } : { seen: notes };
  });
  const said = `${program.printed.stdout}${program.printed.stderr}`;
  expect(said).not.toContain(TOKEN);
}, 300_000);
