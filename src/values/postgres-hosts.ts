/** Hosts of a Postgres URL: one, or several as libpq lists them, `postgres://user@one:5432,two:5432/database`. */

export type PostgresHost = {
  /** Host and port, for messages. */
  readonly name: string;
  /** The URL with this host alone. */
  readonly url: string;
};

export type PostgresUrl = {
  readonly hosts: readonly [PostgresHost, ...PostgresHost[]];
  /** Whether the host that takes writes is to be found: there are several, or the URL asks for it. */
  readonly asksForPrimary: boolean;
};

const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is;

const TARGET = "target_session_attrs";

/** Values of `target_session_attrs` for a service that writes. */
const WRITING: readonly (string | null)[] = [null, "read-write", "primary"];

const NO_URL =
  "must be a URL such as {example}; several hosts are separated by commas, each with its port: …@one:5432,two:5432/holderbook";

/** Reads such a URL; `fault` says what is wrong, without showing any of it. */
export const parsePostgresUrl = (text: string): PostgresUrl | { readonly fault: string } => {
  const [, before = "", authority = "", after = ""] = PARTS.exec(text) ?? [];
  const listed = authority.split(",");
  if (listed.length > 1 && listed.includes("")) {
    return { fault: "lists an empty host: separate hosts by one comma each" };
  }
  const [url, ...urls] = listed.map((host) => URL.parse(`${before}${host}${after}`));
  const others = urls.filter((each) => each !== null);
  if (before === "" || url == null || others.length < urls.length) return { fault: NO_URL };
  const target = url.searchParams.get(TARGET);
  if (!WRITING.includes(target)) {
    return {
      fault: `has another ${TARGET} than read-write, but the service writes: use that, or leave it out`,
    };
  }
  const hosts = [hostIn(url), ...others.map(hostIn)] as const;
  if (new Set(hosts.map(({ name }) => name)).size < hosts.length) {
    return { fault: "lists a host twice" };
  }
  return { hosts, asksForPrimary: hosts.length > 1 || target !== null };
};

const hostIn = (url: URL): PostgresHost => {
  const name = `${url.hostname || "localhost"}:${url.port || 5432}`;
  // Unchanged otherwise: serialising a query writes it in another form.
  if (url.searchParams.has(TARGET)) url.searchParams.delete(TARGET);
  return { name, url: url.href };
};

/**
 * The same for a URL that was checked.
 * @throws Error for another
 */
export const postgresUrl = (text: string): PostgresUrl => {
  const parsed = parsePostgresUrl(text);
  if ("fault" in parsed) {
    const fault = parsed.fault.replace("{example}", "postgres://user:password@host:5432/database");
    throw new Error(`the database's URL ${fault}`);
  }
  return parsed;
};
