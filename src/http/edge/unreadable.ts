/** What is answered when the bytes on a connection are not an HTTP request. */
import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { errorBody } from "../error-body.ts";
import { securityHeaders } from "./security-headers.ts";

/** Codes of Node's parser that are not simply "bad". */
const STATUS: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

const DETAILS: Readonly<Record<number, string>> = {
  400: "this is not an HTTP request",
  408: "the request did not arrive in time",
  431: "the header fields are too large",
};

/**
 * Answers and ends the connection: after unreadable bytes the beginning of the next request is unknown.
 * There is no request, so the id is new and only ties the answer to the caller's report.
 */
export const refuseUnreadable = (error: Error & { readonly code?: string }, socket: Socket) => {
  // The usual case: the client went away.
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy(error);
    return;
  }
  const statusCode = STATUS[error.code ?? ""] ?? 400;
  const requestId = randomUUID();
  const body = JSON.stringify(
    errorBody(statusCode, DETAILS[statusCode] ?? "bad request", requestId),
  );
  const fields = {
    ...securityHeaders,
    "content-type": "application/json; charset=utf-8",
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
    "x-request-id": requestId,
  };
  const head = [
    `HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}`,
    ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
};
