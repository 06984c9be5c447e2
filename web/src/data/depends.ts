/** Which pipelines an answer depends on: recorded as it is asked for, so that it is refreshed when one of these changed. */
import type { Query } from "@tanstack/react-query";

/** Pipelines that a field of the service's schema is served from; other fields depend on all of them. */
const SERVED_BY: Readonly<Record<string, readonly string[]>> = {
  tokenActivity: ["token_activity"],
  tokenTimelocks: ["timelock_objects"],
  tokenHolders: ["shared_token_objects", "timelock_objects"],
  tokenBalance: ["shared_token_objects", "timelock_objects"],
  tokens: ["shared_token_objects"],
  token: ["shared_token_objects"],
  capTable: ["shared_token_objects", "timelock_objects", "holder_lifecycle"],
  holderEvents: ["holder_lifecycle"],
  roleEvents: ["role_changes"],
  walletRoles: ["role_changes"],
  // Of no pipeline's rows: the views that show them ask by themselves, too.
  _meta: [],
  completeness: [],
  replays: [],
  labels: [],
};

/** In place of a pipeline: for how long nothing was refreshed. */
export const TIME = "time";

/** Fields asked for by the last fetch of a query. */
const asked = new WeakMap<object, ReadonlySet<string>>();

export const noteAsked = (query: object, fields: ReadonlySet<string>): void =>
  void asked.set(query, fields);

/** Whether a query's answer may have changed with these pipelines; one that asked for no field may always have. */
export const mayChangeWith = (
  query: Pick<Query, "queryHash">,
  pipelines: ReadonlySet<string>,
): boolean => {
  const fields = asked.get(query);
  if (fields === undefined || fields.size === 0 || pipelines.has(TIME)) return true;
  return [...fields].some((field) => {
    const served = SERVED_BY[field];
    return served === undefined || served.some((pipeline) => pipelines.has(pipeline));
  });
};
