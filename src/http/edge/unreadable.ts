/** Answers bytes that are not an HTTP request. */
import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { errorBody } from "../error-body.ts";
import { securityHeaders } from "./security-headers.ts";

/** Parser codes with a status other than 400. */
const STATUS: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

const DETAILS: Readonly<Record<number, string>> = {
  400: "this is not an HTTP request",
  408: "the request did not arrive in time",
  431: "the header fields are too large",
};

/** Answers with a new request id and ends the connection: the next request's start is unknown. */
export const refuseUnreadable = (error: Error & { readonly code?: string }, socket: Socket) => {
  // Usually the client went away.
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
