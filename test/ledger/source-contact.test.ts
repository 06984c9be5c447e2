import { expect, test } from "vitest";
import { createContact } from "../../src/ledger/sources/source-contact.ts";
import { SourceUnavailableError } from "../../src/ledger/sources/source-errors.ts";
import { onlyPlaces, placeOf } from "../../src/values/place.ts";

/** A contact on a clock that a test moves, in seconds. */
const contactAt = () => {
  let second = 0;
  const contact = createContact(() => second * 1000);
  return { contact, at: (next: number) => (second = next) };
};

test("silence is the time a request waited, and an answer ends it", () => {
  const { contact, at } = contactAt();
  expect(contact.now()).toEqual({ answeredAgoMs: null, silentMs: 0, error: null });
  const first = contact.asking();
  at(20);
  expect(contact.now()).toMatchObject({ answeredAgoMs: null, silentMs: 20_000 });
  contact.answered();
  at(25);
  // The same question goes on, such as one for checkpoints without an end.
  expect(contact.now()).toMatchObject({ answeredAgoMs: 5_000, silentMs: 5_000 });
  first[Symbol.dispose]();
  at(500);
  // No question was open: our own commit took that long.
  expect(contact.now()).toMatchObject({ answeredAgoMs: 480_000, silentMs: 5_000 });
  using _second = contact.asking();
  at(510);
  expect(contact.now()).toMatchObject({ silentMs: 15_000 });
});

test("overlapping requests are one silence, and ending one twice counts once", () => {
  const { contact, at } = contactAt();
  const long = contact.asking();
  at(10);
  const short = contact.asking();
  at(20);
  short[Symbol.dispose]();
  short[Symbol.dispose]();
  at(30);
  expect(contact.now().silentMs).toBe(30_000);
  long[Symbol.dispose]();
  at(40);
  expect(contact.now().silentMs).toBe(30_000);
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
