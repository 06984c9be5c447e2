import { ConfigError } from "../../settings/config-error.ts";
import { shownUrl } from "../../settings/shown-url.ts";
import { directorySource } from "./directory.ts";
import { defaultRetryPolicy, type OnSetback, type RetryPolicy } from "./fetch-attempts.ts";
import { grpcSource } from "./grpc.ts";
import { readGrpcAddress } from "./grpc-address.ts";
import { objectStoreSource } from "./object-store.ts";
import type { CheckpointSource } from "./source.ts";
import type { SourceObserver } from "./source-contact.ts";

type OpenSourceOptions = {
  /** Sent with every request; never logged. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Maximum concurrent requests, 1 or more. */
  readonly maxConcurrency?: number | undefined;
  /** Maximum bytes fetched ahead. */
  readonly windowBytes?: number | undefined;
  /** Where an object store begins; the search for its newest starts there. */
  readonly firstCheckpoint?: bigint | undefined;
  /** Whether to request the validators' signatures; files always have them. */
  readonly certificates?: boolean | undefined;
  /** Whether it may block its thread, which takes less processor time. */
  readonly mayBlock?: boolean | undefined;
  /** Half a minute by default. */
  readonly retry?: RetryPolicy | undefined;
  /** Called for failed attempts that are retried. */
  readonly onSetback?: OnSetback | undefined;
  /** Notified of a network source's answers and failures. */
  readonly observer?: SourceObserver | undefined;
};

/** LEDGER_SOURCE is invalid. Stop; correct it. */
export class SourceSettingError extends ConfigError {
  override readonly name = "SourceSettingError";

  constructor(setting: string, problem: string) {
    super(
      `LEDGER_SOURCE=${shownUrl(setting)} ${problem}. Examples: grpc+https://fullnode.mainnet.sui.io:443, ` +
        "https://checkpoints.mainnet.sui.io, dir:/var/lib/checkpoints, demo:",
    );
  }
}

const MIB = 1024 * 1024;

/**
 * Opens a source of `LEDGER_SOURCE` other than the demo; contacts nothing yet.
 *
 * @throws SourceSettingError (stop)
 */
export const openSource = (
  setting: string,
  {
    headers = {},
    maxConcurrency = 64,
    windowBytes = 128 * MIB,
    firstCheckpoint = 0n,
    certificates = false,
    mayBlock = false,
    retry = defaultRetryPolicy,
    onSetback = () => {},
    observer,
  }: OpenSourceOptions = {},
): CheckpointSource => {
  if (setting.startsWith("dir:")) {
    const path = setting.slice("dir:".length);
    if (path === "") throw new SourceSettingError(setting, "names no folder");
    return directorySource({ path });
  }
  const url = URL.canParse(setting) ? new URL(setting) : null;
  if (url === null) throw new SourceSettingError(setting, "is not a source");
  if (url.username !== "" || url.password !== "") {
    throw new SourceSettingError(setting, "must not hold a user or password; use LEDGER_HEADERS");
  }
  const concurrency = { min: 1, max: maxConcurrency, start: Math.min(4, maxConcurrency) };
  const window = { checkpoints: Math.max(2 * maxConcurrency, 256), bytes: windowBytes };
  const shared = { headers, concurrency, window, retry, onSetback, observer };
  switch (url.protocol) {
    case "http:":
    case "https:":
      return objectStoreSource({ base: url, startsAt: firstCheckpoint, mayBlock, ...shared });
    case "grpc+http:":
    case "grpc+https:": {
      const address = readGrpcAddress(setting);
      if ("problem" in address) throw new SourceSettingError(setting, address.problem);
      return grpcSource({ ...address, certificates, ...shared });
    }
    default:
      throw new SourceSettingError(setting, "is not a source");
  }
};
