/** Which requests are plain enough for the short way: see `direct.ts`. */
import type { IncomingMessage } from "node:http";
import { namesOneHost } from "./edge/refused-by-node.ts";

/** Members of a query string, each given once. */
export type Query = Readonly<Record<string, string>>;

/** Nothing in its head wants a refusal. */
const isUsual = (raw: IncomingMessage): boolean =>
  raw.headers.expect === undefined && namesOneHost(raw);

/** A POST of JSON whose last byte is here. */
export const isPlainPost = (raw: IncomingMessage, bodyLimit: number): boolean =>
  raw.readableLength > 0 &&
  raw.readableLength <= bodyLimit &&
  raw.readableLength === Number(raw.headers["content-length"]) &&
  JSON_TYPE.test(raw.headers["content-type"] ?? "") &&
  isUsual(raw);

const JSON_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i;

/** A GET that brings nothing with it. */
export const isPlainGet = (raw: IncomingMessage): boolean =>
  raw.headers["content-length"] === undefined &&
  raw.headers["transfer-encoding"] === undefined &&
  isUsual(raw);

/** Pairs of letters and digits: nothing to decode, so that any parser finds the same. */
const PLAIN_QUERY = /^[a-z][a-z_]*=\w*(?:&[a-z][a-z_]*=\w*)*$/;

/** The members of a plain query string; undefined where one comes twice, or anything else is in it. */
export const plainQuery = (text: string): Query | undefined => {
  if (!PLAIN_QUERY.test(text)) return undefined;
  // Without members that every object has, such as "constructor".
  const query: Record<string, string> = Object.create(null);
  for (const pair of text.split("&")) {
    const end = pair.indexOf("=");
    const name = pair.slice(0, end);
    if (name in query) return undefined;
    query[name] = pair.slice(end + 1);
  }
  return query;
};
