/** Where a full node is reached. */
export type GrpcAddress = {
  /** `host:port`. */
  readonly host: string;
  readonly tls: boolean;
};

/**
 * Reads `grpc+https://host:port`, or `grpc+http` for a node without TLS; without a port that of the scheme.
 * @returns what is wrong, to be said of the setting, when the text has another form
 */
export const readGrpcAddress = (text: string): GrpcAddress | { readonly problem: string } => {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["grpc+http:", "grpc+https:"].includes(url.protocol)) {
    return { problem: "is not a full node" };
  }
  if (url.hostname === "") return { problem: "names no host" };
  if (url.username !== "" || url.password !== "") {
    return { problem: "must not hold a user or password" };
  }
  if (!["", "/"].includes(url.pathname) || url.search !== "") {
    return { problem: "must end after the host and port" };
  }
  const tls = url.protocol === "grpc+https:";
  return { host: `${url.hostname}:${url.port || (tls ? 443 : 80)}`, tls };
};
