/** Makes the page of `graphiql.ts`: run as a worker, with the path of GraphQL as its data. */
import { createHash } from "node:crypto";
import { workerData } from "node:worker_threads";
import { renderGraphiQL } from "@graphql-yoga/render-graphiql";
import { handOver, largeText } from "../http/large-text.ts";

/** What a first visitor finds, each in a tab of its own; the key is typed once per tab. */
const QUERIES = [
  `# 1. Put your key between the quotes in
#    the Headers tab below.
# 2. Run with the button, or Ctrl-Enter.
# 3. Shift-Ctrl-R loads the documentation.

query Status {
  indexerStatus {
    pipeline
    checkpoint
    checkpointTimestamp
    ageSeconds
  }
}
`,
  `# Put a coin type into the Variables tab
# below, and your key into Headers.

query Holders($coinType: String!) {
  tokenHolders(coinType: $coinType, limit: 10) {
    owner
    balance
    timelockBalance
    timelocksIncluded
  }
}
`,
  `# Put a coin type into the Variables tab
# below, and your key into Headers.

query Activity($coinType: String!) {
  tokenActivity(coinType: $coinType, limit: 20, order: DESC) {
    activityType
    amount
    decimals
    fromAddress
    toAddress
    txDigest
    checkpointTimestamp
  }
}
`,
] as const;

const HEADERS = JSON.stringify({ "X-API-Key": "" }, null, 2);

const VARIABLES = JSON.stringify({ coinType: "0x…::module::TYPE" }, null, 2);

const makePage = async (endpoint: string) => {
  const [first, ...others] = QUERIES;
  // In a variable: the package's type leaves `query` out. It is the tab a later visit opens with;
  // without it, or if that tab had variables, every visit would open one more, empty, tab.
  const options = {
    endpoint,
    title: "Holderbook GraphiQL",
    query: first,
    defaultTabs: [
      { query: first, headers: HEADERS },
      ...others.map((query) => ({ query, headers: HEADERS, variables: VARIABLES })),
    ],
    defaultHeaders: HEADERS,
    isHeadersEditorEnabled: true,
    defaultEditorToolsVisibility: "headers" as const,
    // A key does not belong into the browser's storage.
    shouldPersistHeaders: false,
  };
  const html = renderGraphiQL(options).trim();
  const policy = policyFor(html);
  // From here on there are its bytes alone.
  return { ...(await largeText(Buffer.from(html))), policy };
};

/**
 * The page is one script and one style sheet, inline. The script is allowed by its hash and nothing
 * else is; its editor starts workers from blobs and writes style attributes.
 */
const policyFor = (html: string): string => {
  const script = html.slice(html.indexOf(SCRIPT) + SCRIPT.length, html.lastIndexOf("</script>"));
  const hash = createHash("sha256").update(script).digest("base64");
  return [
    "default-src 'none'",
    `script-src 'sha256-${hash}'`,
    "style-src 'unsafe-inline'",
    "worker-src blob:",
    "connect-src 'self'",
    "img-src data:",
    "font-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
};

const SCRIPT = "<script>";

const page = await makePage(String(workerData));
handOver(page, [page]);
