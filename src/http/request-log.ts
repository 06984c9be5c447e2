/** What requests write into the log, made so that a request costs as little of it as can be. */
import type { FastifyBaseLogger } from "fastify";
import type { Logger } from "../logger.ts";

/**
 * For the line that every request leaves. Its members are the service's own and hold no secret: looking
 * for some in each line took as long as the rest of it.
 */
export const requestLines = (logger: Logger): Logger => logger.child({}, { redact: [] });

/** For fastify: the logger of a request, made when it is first written to; most never are. */
export const loggerWhenUsed = (
  logger: FastifyBaseLogger,
  bindings: Record<string, unknown>,
  options: object,
): FastifyBaseLogger => {
  let made: FastifyBaseLogger | undefined;
  return new Proxy(logger, {
    get: (_, name) => {
      made ??= logger.child(bindings, options);
      const member: unknown = Reflect.get(made, name);
      return typeof member === "function" ? member.bind(made) : member;
    },
  });
};
