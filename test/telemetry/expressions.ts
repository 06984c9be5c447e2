/** What PromQL asks for. */
import { findMetric } from "../../src/telemetry/catalogue.ts";

/** Of a histogram each series has one of these at its end. */
const PARTS = /_(bucket|sum|count)$/;

/** Names of our metrics in an expression; those of histograms without the ends of their series. */
export const metricsIn = (expression: string): readonly string[] =>
  [...expression.matchAll(/\b(?:holderbook|process|nodejs)_\w+/g)].map(([name]) =>
    findMetric(name) === undefined ? name.replace(PARTS, "") : name,
  );
