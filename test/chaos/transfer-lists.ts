/** The list of EVM transfers as it was served, and as another service makes it of the same chain. */
import { until } from "../lanes/until.ts";
import { freshDatabase } from "../postgres.ts";
import { evmAsset, index, serve } from "../rest/service.ts";
import { CHAIN_PROJECT } from "./served-chain.ts";
import type { World } from "./world.ts";

const LISTED_WITHIN_MS = 180_000;

/** All pages, but for when the token was first read: that is each database's own. */
const listed = async (url: string, key: string): Promise<string> => {
  const pages: string[] = [];
  let next: string | undefined = "/r/api/v2/transfer_events?limit=100";
  while (next !== undefined) {
    const response: Response = await fetch(new URL(next, url), {
      headers: { "x-project-api-key": key },
    });
    pages.push(await response.text());
    next = /<([^>]+)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
  }
  return pages
    .join("\n")
    .replaceAll(/("symbol":"\w+"),"created_at":"[^"]+","updated_at":"[^"]+"/g, "$1");
};

/** Waits until both have every transfer, and the receiver has been called for as many. */
export const bothLists = async ({ chain, processes, projectKey }: World) => {
  await using database = await freshDatabase({ max: 16 });
  const projects = [{ name: CHAIN_PROJECT, tokens: chain.honestToken.map(evmAsset) }];
  await using _index = await index(database, projects);
  await using api = await serve(database, projects);
  const lists = async () => ({
    disturbed: await listed(processes.serve.url, projectKey),
    undisturbed: await listed(api.url, api.key),
    called: chain.called().length,
  });
  const countOf = (list: string) => list.split('"amount":').length - 1;
  return await until(
    "the last transfer in both lists and called back",
    lists,
    ({ disturbed, undisturbed, called }) =>
      undisturbed.includes(`"amount":${chain.sent()},`) &&
      countOf(disturbed) === countOf(undisturbed) &&
      called >= countOf(undisturbed),
    LISTED_WITHIN_MS,
  );
};
