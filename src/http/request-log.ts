import type { FastifyBaseLogger } from "fastify";

/** Fastify's logger of a request, made on first use; most requests log nothing. */
export const loggerWhenUsed = (
  logger: FastifyBaseLogger,
  bindings: Record<string, unknown>,
  options: object,
): FastifyBaseLogger => new LoggerWhenUsed(logger, bindings, options);

class LoggerWhenUsed implements FastifyBaseLogger {
  readonly #parent: FastifyBaseLogger;
  readonly #bindings: Record<string, unknown>;
  readonly #options: object;
  #made: FastifyBaseLogger | undefined;

  constructor(parent: FastifyBaseLogger, bindings: Record<string, unknown>, options: object) {
    this.#parent = parent;
    this.#bindings = bindings;
    this.#options = options;
  }

  get #logger(): FastifyBaseLogger {
    this.#made ??= this.#parent.child(this.#bindings, this.#options);
    return this.#made;
  }

  get level(): string {
    return this.#logger.level;
  }
  set level(level: string) {
    this.#logger.level = level;
  }

  child(bindings: Record<string, unknown>, options?: object): FastifyBaseLogger {
    return this.#logger.child(bindings, options);
  }

  fatal(...line: unknown[]): void {
    Reflect.apply(this.#logger.fatal, this.#logger, line);
  }
  error(...line: unknown[]): void {
    Reflect.apply(this.#logger.error, this.#logger, line);
  }
  warn(...line: unknown[]): void {
    Reflect.apply(this.#logger.warn, this.#logger, line);
  }
  info(...line: unknown[]): void {
    Reflect.apply(this.#logger.info, this.#logger, line);
  }
  debug(...line: unknown[]): void {
    Reflect.apply(this.#logger.debug, this.#logger, line);
  }
  trace(...line: unknown[]): void {
    Reflect.apply(this.#logger.trace, this.#logger, line);
  }
  silent(...line: unknown[]): void {
    Reflect.apply(this.#logger.silent, this.#logger, line);
  }
}
