import { expect, test } from "vitest";
import { openSource, SourceSettingError } from "../../../src/ledger/sources/open-source.ts";

test.each([
  ["grpc+https://fullnode.mainnet.sui.io", "grpc+https://fullnode.mainnet.sui.io:443"],
  ["grpc+https://fullnode.mainnet.sui.io:8443/", "grpc+https://fullnode.mainnet.sui.io:8443"],
  ["grpc+http://localhost:9000", "grpc+http://localhost:9000"],
  ["grpc+http://[::1]:9000", "grpc+http://[::1]:9000"],
  ["https://checkpoints.mainnet.sui.io", "https://checkpoints.mainnet.sui.io"],
  ["http://localhost:9000/bucket?token=x", "http://localhost:9000/…"],
  ["dir:/var/lib/checkpoints", "dir:/var/lib/checkpoints"],
  ["dir:../checkpoints", "dir:../checkpoints"],
])("%s opens a source that describes itself as %s", async (setting, description) => {
  const source = openSource(setting);
  expect(source.description).toBe(description);
  await source.close();
});

test.each([
  "",
  "nonsense",
  "dir:",
  "ftp://example.com",
  "grpc://fullnode.mainnet.sui.io",
  "grpc+https://",
  "grpc+https://host/path",
])("%s is refused with valid examples", (setting) => {
  expect(() => openSource(setting)).toThrow(SourceSettingError);
  expect(() => openSource(setting)).toThrow(/Examples: grpc\+https:/);
});

test("a password in the address is refused, and not repeated", () => {
  expect(() => openSource("https://user:hunter2@example.com/")).toThrow(SourceSettingError);
  expect(() => openSource("https://user:hunter2@example.com/")).not.toThrow(/hunter2/);
});
