/** A server between `compare` and another deployment, which changes answers, or holds them back. */

import { once } from "node:events";
import { createServer } from "node:http";
import { z } from "zod";

/** What was asked: the path, and of GraphQL the query. */
export type Asked = { readonly path: string; readonly query: string };

const asked = z.object({ query: z.string() });

/**
 * @param answer what becomes of each answer's text; it may be waited for
 */
export const forwarding = async (
  target: string,
  answer: (text: string, question: Asked) => string | Promise<string>,
) => {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const path = request.url ?? "/";
    const key = request.headers["x-api-key"];
    const forwarded = await fetch(`${target}${path}`, {
      method: request.method ?? "GET",
      headers: {
        "content-type": "application/json",
        ...(typeof key === "string" && { "x-api-key": key }),
      },
      ...(body !== "" && { body }),
    });
    const question = { path, query: body === "" ? "" : asked.parse(JSON.parse(body)).query };
    const text = await answer(await forwarded.text(), question);
    response.writeHead(forwarded.status, { "content-type": "application/json" }).end(text);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
};
