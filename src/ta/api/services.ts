/** What the routes of this API work with. */
import type { SigningKeys } from "../../callbacks/signing-keys.ts";
import type { Database } from "../../database/connect.ts";
import { jsonReply, jsonText, type Answer as RouteAnswer } from "../../http/route.ts";
import type { Acceptance } from "../requests/accept.ts";
import type { Fingerprints } from "../requests/fingerprint.ts";
import type { Answer } from "../requests/replays.ts";
import type { Callers } from "./callers.ts";

/** Sizes in bytes. */
export type TaBounds = {
  /** One body. */
  readonly bodyBytes: number;
  /** One decoded file. */
  readonly fileBytes: number;
};

export type TaServices = {
  /** Accepts requests and redeliveries. */
  readonly database: Pick<Database, "sql" | "transaction" | "db">;
  /** Answers what is only read. */
  readonly read: Pick<Database, "db">;
  readonly accept: Acceptance;
  readonly fingerprints: Fingerprints;
  readonly signingKeys: Pick<SigningKeys, "publicKeys">;
  /** See `.env.example`. */
  readonly bounds: TaBounds;
  /** Its capitals followed by 00, as a tin, stand for none. */
  readonly platformName: string;
  readonly version: string;
  /** Whether log lines of requests name their traces; false unless given. */
  readonly isTraced?: boolean;
};

export type TaRouteSettings = TaServices & { readonly callers: Callers };

/** A JSON answer that may be the remembered one of an earlier request. */
export const replayable = (
  status: number,
  ...described: Parameters<typeof jsonText>
): RouteAnswer<Answer> => ({
  ...jsonText(...described),
  status,
  toReply: ({ statusCode, answer }) => jsonReply(statusCode, answer),
});
