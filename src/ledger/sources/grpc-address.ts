export type GrpcAddress = {
  /** `host:port`. */
  readonly host: string;
  readonly tls: boolean;
};

/**
 * Parses `grpc+https://host:port` or `grpc+http://…`; the port defaults to the scheme's.
 * @returns the problem with another text
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
