import { type GrpcOptions, grpcSource } from "../../../src/ledger/sources/grpc.ts";
import type { startGrpcServer } from "./grpc-server.ts";
import { until } from "./taking.ts";

export type TestServer = Awaited<ReturnType<typeof startGrpcServer>>;

/** The shipping source with waits short enough for tests. */
export const open = (host: string, options: Partial<GrpcOptions> = {}) => {
  const source = grpcSource({
    host,
    tls: false,
    pollMs: 10,
    silenceMs: 2_000,
    resubscribe: { firstMs: 10, maxMs: 50 },
    retry: { attempts: 6, damagedAttempts: 3, backoff: { firstMs: 5, maxMs: 50 } },
    ...options,
  });
  return Object.assign(source, { [Symbol.asyncDispose]: () => source.close() });
};

/** Waits for the `nth` subscription to be open. */
export const subscribed = ({ seen, subscribers }: TestServer, nth = 1) =>
  until(
    () => seen.subscriptions >= nth && subscribers.size > 0,
    () => `${seen.subscriptions} subscriptions, ${subscribers.size} open`,
  );
