import { expect, test } from "vitest";
import { askChainId } from "../../src/ledger/reading/watch-source.ts";
import { createContact, reporting } from "../../src/ledger/sources/source-contact.ts";
import { SourceUnavailableError } from "../../src/ledger/sources/source-errors.ts";
import { onlyPlaces, placeOf } from "../../src/values/place.ts";
import { createScriptedLedger } from "./reading/scripted-ledger.ts";

/** A contact on a clock that a test moves, in seconds. */
const contactAt = () => {
  let second = 0;
  const contact = createContact(() => second * 1000);
  return { contact, at: (next: number) => (second = next) };
};

test("silence is the time since the last answer, or since the first request, whatever fails between", () => {
  const { contact, at } = contactAt();
  at(10);
  expect(contact.now()).toEqual({ answeredAgoMs: null, silentMs: 0, error: null });
  contact.asked();
  at(30);
  contact.asked();
  contact.failed(new Error("HTTP 503"));
  expect(contact.now()).toMatchObject({ answeredAgoMs: null, silentMs: 20_000 });
  contact.answered();
  at(35);
  contact.asked();
  contact.failed(new Error("HTTP 503"));
  at(90);
  expect(contact.now()).toMatchObject({ answeredAgoMs: 60_000, silentMs: 60_000 });
});

test("neither an answer after an abort nor a chain's id that may be remembered ends the silence", async () => {
  const { contact, at } = contactAt();
  contact.asked();
  at(5);
  await reporting(contact, Promise.resolve("at its end"), AbortSignal.abort());
  const { source } = createScriptedLedger({ newest: 1n });
  const { signal } = new AbortController();
  expect(await askChainId({ source, contact }, signal)).not.toBeNull();
  expect(contact.now()).toMatchObject({ answeredAgoMs: null, silentMs: 5_000 });
});

test("the last error is shown in the source's words until it answers", () => {
  const { contact } = contactAt();
  const cause = new Error("HTTP 503");
  contact.failed(new SourceUnavailableError("https://host/v1/KEY", "checkpoint 7", 24, cause));
  expect(contact.now().error).toBe("HTTP 503");
  contact.failed(new Error("https://u:p@host:8443/v1/KEY?k=KEY: was refused"));
  expect(contact.now().error).toBe("https://host:8443: was refused");
  contact.answered();
  expect(contact.now().error).toBeNull();
});

test("URLs in a text are cut to scheme and host", () => {
  for (const [text, kept] of [
    ["https://host/v1/KEY", "https://host"],
    ["https://host", "https://host"],
    ["https://host:9000/KEY/: no", "https://host:9000: no"],
    ["see http://u:K@EY@host?KEY, or http://[::1]:80/KEY.", "see http://host, or http://[::1]:80."],
    ['("https://host/a?b=KEY#KEY")', '("https://host")'],
    ["grpc+https://host:443: UNAVAILABLE: connect ECONNREFUSED 127.0.0.1:443", undefined],
    ["nothing of the kind: 12:30, a/b", undefined],
  ] as const) {
    expect(onlyPlaces(text)).toBe(kept ?? text);
  }
});

test("a source is shown by scheme and host, or by its kind", () => {
  expect(placeOf("https://checkpoints.example/v1/KEY")).toBe("https://checkpoints.example");
  expect(placeOf("grpc+https://node.example:443")).toBe("grpc+https://node.example:443");
  expect(placeOf("dir:/srv/checkpoints")).toBe("dir:");
  expect(placeOf("demo: seed 1, 4 checkpoints per second")).toBe("demo:");
  expect(placeOf("scripted")).toBe("scripted");
});
