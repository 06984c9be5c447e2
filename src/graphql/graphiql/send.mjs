// Sends a query, and reads one answer or the events of a subscription.

const JSON_TYPES = "application/graphql-response+json, application/json;q=0.9";

/**
 * Sends; `heard` is told each result, `opened` that events will come: what happens from then on is among them.
 * @returns status of the answer and its header fields, once it is over
 */
export const send = async ({ endpoint, body, headers, isSubscription, signal, opened, heard }) => {
  const response = await fetch(endpoint, {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      accept: isSubscription ? "text/event-stream" : JSON_TYPES,
    },
    body: JSON.stringify(body),
    signal,
    credentials: "omit",
  });
  const { status } = response;
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
    const text = await response.text();
    heard(parsed(text) ?? text);
    return { status, headers: response.headers };
  }
  opened();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let unread = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const events = `${unread}${value}`.split("\n\n");
    unread = events.pop();
    for (const event of events) {
      const data = /^data: (.+)$/m.exec(event)?.[1];
      if (data !== undefined) heard(parsed(data) ?? data);
    }
  }
  return { status, headers: response.headers };
};

export const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
