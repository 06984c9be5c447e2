/** `/operator/pauses`: what is paused; to pause a pipeline, an asset's requests or a receiver, and resume it. */
import { z } from "zod";
import type { Database, Db } from "../database/connect.ts";
import { HttpError } from "../http/http-error.ts";
import type { Key } from "../http/keys.ts";
import { json, jsonBody, type Route, route, type Who } from "../http/route.ts";
import { activePauses, endedPauses, PAUSE_KINDS, type PauseKind } from "../pauses/pauses.ts";
import type { Assets } from "../settings/assets.ts";
import { pauseAnswer, pausesAnswer } from "./answers.ts";
import { nameParameter } from "./cursor.ts";
import { NothingToPauseError, pauseNow, resumeNow } from "./pausing.ts";

/** Ended pauses that are listed. */
const MOST_ENDED = 100;

const pauseBody = z.strictObject({
  reason: nameParameter
    .max(500, "must have at most 500 characters")
    .optional()
    .meta({ description: "For other operators; never published." }),
});

const PARAMS = {
  kind: "`pipeline`, `asset` or `receiver`.",
  name: "Name of the pipeline or asset, or the receiver's id as `/operator/receivers` lists it.",
};

type Settings = {
  /** Read-only, with a statement timeout. */
  readonly db: Db;
  readonly database: Database;
  readonly assets: () => Assets;
  readonly who: Who<Key>;
};

export const pauseRoutes = ({ db, database, assets, who }: Settings): readonly Route[] => [
  route({
    method: "GET",
    path: "/operator/pauses",
    who,
    operationId: "operatorPauses",
    summary: "What is paused",
    answer: json("OperatorPauses", pausesAnswer, "All that is paused, and what was resumed."),
    handle: async () => {
      const [pauses, ended] = await Promise.all([activePauses(db), endedPauses(db, MOST_ENDED)]);
      return { pauses: [...pauses], ended: [...ended] };
    },
  }),
  route({
    method: "PUT",
    path: "/operator/pauses/:kind/:name",
    who,
    operationId: "operatorPause",
    summary: "Pause a pipeline, an asset's requests or a receiver",
    description:
      "All processes follow within seconds, also after a restart. A pipeline stops between two batches, and its rows are served as they are; requests for an asset are accepted and wait; callbacks to a receiver wait. Repeat it with another reason to replace the reason.",
    params: PARAMS,
    body: jsonBody(pauseBody),
    answer: json("OperatorPause", pauseAnswer, "The pause."),
    refusals: [404],
    handle: async ({ params, body: { reason = null }, caller, visit }) => {
      const { kind, name } = named(params);
      const what = { kind, name, by: `key ${caller.id}`, key: caller.id, assets: assets() };
      await pauseNow(database, { ...what, reason }).catch((error: unknown) => {
        if (error instanceof NothingToPauseError) throw new HttpError(404, error.message);
        throw error;
      });
      visit.log.info({ key: caller.id, paused: kind, name }, "operator: paused");
      // Not through `db`, which may lag behind.
      const found = (await activePauses(database)).find(
        (each) => each.kind === kind && each.name === name,
      );
      if (found === undefined) throw new HttpError(409, "it was resumed at the same time");
      return found;
    },
  }),
  route({
    method: "DELETE",
    path: "/operator/pauses/:kind/:name",
    who,
    operationId: "operatorResume",
    summary: "Resume what was paused",
    params: PARAMS,
    answer: json(
      "OperatorResumed",
      z.object({ kind: z.enum(PAUSE_KINDS), name: z.string(), resumed: z.literal(true) }),
      "It goes on.",
    ),
    refusals: [404],
    handle: async ({ params, caller, visit }) => {
      const { kind, name } = named(params);
      const what = { kind, name, by: `key ${caller.id}`, key: caller.id, assets: assets() };
      if (!(await resumeNow(database, what))) {
        throw new HttpError(404, `no ${kind} of this name is paused`);
      }
      visit.log.info({ key: caller.id, resumed: kind, name }, "operator: resumed");
      return { kind, name, resumed: true as const };
    },
  }),
];

/** @throws HttpError (404) */
const named = ({
  kind: text,
  name = "",
}: Readonly<Record<string, string>>): { readonly kind: PauseKind; readonly name: string } => {
  const kind = PAUSE_KINDS.find((each) => each === text);
  if (kind === undefined || !nameParameter.safeParse(name).success) {
    throw new HttpError(
      404,
      `the path is /operator/pauses/KIND/NAME; KIND is ${PAUSE_KINDS.join(", ")}`,
    );
  }
  return { kind, name };
};
