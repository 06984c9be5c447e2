import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { z } from "zod";
import { generateKeyPair, type JsonValue, signRequest } from "../../../client/index.ts";
import { registerPublicKey } from "../../../src/http/keys.ts";
import { investorLanes } from "../../../src/ta/requests/lanes.ts";
import { startReceiver } from "../../callbacks/receiver.ts";
import { freshDatabase, type TestDatabase } from "../../postgres.ts";
import { eventually, startProgram, temporaryFolder } from "../../service/process.ts";

/** Values that must not turn up anywhere; none of them is part of another text by chance. */
const planted = {
  first_name: "Wilhelmxqz",
  last_name: "Zanzibarowiczxq",
  email: "wilhelm.xqz@planted-domain.example",
  dob: "1971-03-29",
  street: "77 Quetzalcoatlus Lane",
  city: "Plantedsbury",
  postalCode: "QX99ZZ",
  primary_phone: "+14155557391",
  tin: "TIN-48151623",
  ssn: "483-19-7260",
  passportNumber: "XQP8842917",
  fileName: "passport-of-wilhelmxqz.pdf",
};

const file = Buffer.from(`%PDF-1.4 ${"planted file content ".repeat(20)}`);

const investorOf = (id: string, wallet: string) => {
  const { street, city, postalCode, fileName, ...rest } = planted;
  return {
    ...rest,
    id,
    full_address: { street, city, countryCode: "US", postalCode },
    blockchain_wallet: wallet,
    identityDocumentCountry: "US",
    identityDocument: {
      fileName,
      contentType: "application/pdf",
      size: file.length,
      data: file.toString("base64"),
    },
  };
};

/** Everything in every table of every schema, queue included, as text; bytes in hex and as text. */
const dump = async (database: TestDatabase): Promise<string> => {
  const tables = await database.sql<{ name: string }[]>`
    select format('%I.%I', table_schema, table_name) as name from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`;
  const texts = await Promise.all(
    tables.map(async ({ name }) => {
      const rows = await database.sql.unsafe<{ row: string }[]>(
        `select to_json(t)::text as row from ${name} t`,
      );
      return rows.map(({ row }) => row).join("\n");
    }),
  );
  const all = texts.join("\n");
  const bytes = [...all.matchAll(/\\\\x([0-9a-f]{8,})/g)].map(([, hex = ""]) =>
    Buffer.from(hex, "hex").toString("latin1"),
  );
  return `${all}\n${bytes.join("\n")}`;
};

/** Keeps every row that a queue ever holds: a job's is gone once it is done. */
const keepQueued = async ({ sql }: TestDatabase): Promise<void> => {
  const tables = await eventually("the queue's tables", async () => {
    const found = await sql<{ name: string }[]>`
      select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname = 'holderbook_queue'`;
    return found.some(({ name }) => name.includes("job")) ? { done: found } : { seen: found };
  });
  await sql.unsafe(`
    create table kept_of_queues (row text not null);
    create function keep_of_queue() returns trigger language plpgsql as $$
      begin insert into public.kept_of_queues values (to_json(new)::text); return new; end $$;`);
  for (const { name } of tables) {
    await sql.unsafe(`
      create trigger kept after insert or update on ${name}
      for each row execute function public.keep_of_queue()`);
  }
};

test("logs, metrics, answers, callbacks, the queue and a database backup contain no personal data", {
  timeout: 120_000,
}, async () => {
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  await using receiver = await startReceiver();
  await using program = startProgram(["start"], {
    PORT: "0",
    DATA_DIR: folder.path,
    DATABASE_URL: database.url,
    DEMO_HISTORY: "100",
    DEMO_CALLBACK_URL: receiver.url,
    LOG_LEVEL: "trace",
  });
  const [, url = ""] = await program.sees(/GraphQL\s+(http\S+)\/graphql/);
  await keepQueued(database);
  const { publicKey, secretKey } = generateKeyPair();
  await registerPublicKey(database, { asset: "demo-a", publicKey });

  const answers: string[] = [];
  const post = async (path: string, body: JsonValue, spoil = "") => {
    const { headers } = signRequest({ secretKey, body });
    const response = await fetch(`${url}${path}`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: `${JSON.stringify(body)}${spoil}`,
    });
    const text = await response.text();
    answers.push(text);
    return { status: response.status, text };
  };
  const wallet = `0x${randomBytes(32).toString("hex")}`;
  const whitelist = "/api/v1/investor/whitelist";
  const kyc = "/api/v1/investor/kyc";
  const accepted = z.object({ requestId: z.string() });
  const { status, text } = await post(whitelist, { investor: investorOf("inv-1", wallet) });
  expect({ status, text }).toMatchObject({ status: 201 });
  await post(kyc, { investor: investorOf("inv-1", wallet) });
  const last = await post(whitelist, {
    investor: investorOf("inv-1", wallet),
    verifiedStatus: false,
  });
  expect(last.status).toBe(201);
  // What is refused must not be repeated either, member by member, nor as a whole.
  for (const [member, value] of Object.entries(planted)) {
    const wrong = { ...investorOf("inv-2", wallet), [member]: `${value} \u0007 not valid` };
    await post(kyc, { investor: { ...wrong, dob: 5, email: planted.last_name } });
  }
  await post(kyc, { investor: investorOf("inv-3", planted.street) });
  await post(kyc, { investor: investorOf("inv-4", wallet) }, "}");

  await eventually("three callbacks", async () => {
    const seen = receiver.accepted();
    return seen.length >= 3 ? { done: seen } : { seen };
  });
  const { requestId } = accepted.parse(JSON.parse(text));
  expect(receiver.received[0]?.body).toContain(requestId);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const stored = await dump(database);
  // The sources are what they should be: a search through nothing finds nothing.
  expect(program.printed.stderr).toContain("/api/v1/investor/whitelist");
  expect(stored).toContain(requestId);
  expect(stored).toContain("inv-1");
  expect(metrics).toContain("holderbook_");
  const kept = await database.sql<{ row: string }[]>`select row from kept_of_queues`;
  const queued = kept.map(({ row }) => row).join("\n");
  expect(queued).toContain(investorLanes.queue);
  expect(queued).toMatch(/\blane\b/);
  const places = {
    logs: program.printed.stdout + program.printed.stderr,
    answers: answers.join("\n"),
    callbacks: receiver.received.map((one) => one.body + JSON.stringify(one.headers)).join("\n"),
    metrics,
    queued,
    database: stored,
  };
  const sought = { ...planted, file: file.toString("base64").slice(0, 64), text: "planted file" };
  for (const [place, all] of Object.entries(places)) {
    for (const [member, value] of Object.entries(sought)) {
      const found = all.includes(value) || all.includes(Buffer.from(value).toString("base64"));
      expect({ place, member, found }).toEqual({ place, member, found: false });
    }
  }
  // The data are there all the same, for anyone with the key.
  const sealed = await database.sql`select 1 from ta_pii_records`;
  expect(sealed.length).toBeGreaterThanOrEqual(3);
});
