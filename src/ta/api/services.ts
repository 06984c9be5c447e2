/** Dependencies of this API's routes. */
import type { SigningKeys } from "../../callbacks/signing-keys.ts";
import type { Database } from "../../database/connect.ts";
import { jsonReply, jsonText, type Answer as RouteAnswer } from "../../http/route.ts";
import type { Acceptance } from "../requests/accept.ts";
import type { Fingerprints } from "../requests/fingerprint.ts";
import type { Answer } from "../requests/replays.ts";
import type { Callers } from "./callers.ts";

/** Sizes in bytes. */
export type TaBounds = {
  readonly bodyBytes: number;
  readonly fileBytes: number;
};

export type TaServices = {
  /** For accepting requests and redeliveries. */
  readonly database: Pick<Database, "sql" | "transaction" | "db">;
  /** For reads. */
  readonly read: Pick<Database, "db">;
  /** Has later reads of replicas see what `read` has shown; absent without replicas. */
  readonly catchUp?: (() => Promise<void>) | undefined;
  readonly accept: Acceptance;
  readonly fingerprints: Fingerprints;
  readonly signingKeys: Pick<SigningKeys, "publicKeys">;
  /** See `.env.example`. */
  readonly bounds: TaBounds;
  /** The tin of its capitals followed by 00 means none. */
  readonly platformName: string;
  readonly version: string;
  /** Log the trace of each request. */
  readonly isTraced?: boolean;
};

export type TaRouteSettings = TaServices & { readonly callers: Callers };

/** A JSON answer, perhaps remembered from an earlier request. */
export const replayable = (
  status: number,
  ...described: Parameters<typeof jsonText>
): RouteAnswer<Answer> => ({
  ...jsonText(...described),
  status,
  headers: {
    "Idempotent-Replayed": "`true` when this is the answer to an equal request that came before.",
  },
  toReply: ({ statusCode, answer, isReplay = false }) => ({
    ...jsonReply(statusCode, answer),
    ...(isReplay && { headers: { "idempotent-replayed": "true" } }),
  }),
});
