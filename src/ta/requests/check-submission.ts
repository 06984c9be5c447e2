import { z } from "zod";
import type { JsonValue } from "../../../client/index.ts";
import type { Submission } from "../pii/submission.ts";
import { type Fault, FILE_CODES, InvalidRequestError } from "./invalid-request.ts";
import { type SubmissionRules, submissionSchema } from "./investor.ts";

/**
 * Turns a parsed body into a submission. Ignores unknown members; null counts as absent. Empty text
 * is missing in a required member, and a fault of an optional one.
 * @throws InvalidRequestError naming every faulty member once
 */
export const submissionCheck = (
  rules: SubmissionRules,
): ((body: JsonValue) => Promise<Submission>) => {
  const schema = submissionSchema(rules);
  const optional = new Set(
    Object.entries(schema.shape.investor.shape)
      .filter(([, member]) => member instanceof z.ZodOptional)
      .map(([name]) => name),
  );
  return async (body) => {
    const present = withEveryObject(withoutAbsent(body, optional));
    // Only file contents need the slower asynchronous check.
    const { success, data, error } = hasFiles(present)
      ? await schema.safeParseAsync(present)
      : schema.safeParse(present);
    if (!success) {
      throw new InvalidRequestError(
        firstOfEach(error.issues.map((issue) => faultOf(issue, present))),
      );
    }
    const { investor, verifiedStatus = true, verifiedAt } = data;
    return {
      investor: {
        ...investor,
        tin: investor.tin ?? null,
        accreditation: investor.accreditation ?? null,
        ssn: investor.ssn ?? null,
        passportNumber: investor.passportNumber ?? null,
        identityDocumentCountry: investor.identityDocumentCountry ?? null,
        identityDocument: investor.identityDocument ?? null,
        proofOfAddress: investor.proofOfAddress ?? null,
      },
      verifiedStatus,
      verifiedAt: (verifiedAt === undefined ? new Date() : new Date(verifiedAt)).toISOString(),
    };
  };
};

/**
 * The body without null, and without empty text inside the investor object, down to the depth of
 * known members. Empty text of an optional member stays, to be reported.
 */
const withoutAbsent = (value: JsonValue, optional: ReadonlySet<string>, depth = 0): JsonValue => {
  if (!isObject(value) || depth > 2) return value;
  const present = Object.entries(value).filter(
    ([name, member]) =>
      member !== null && !(isBlank(member) && depth > 0 && !(depth === 1 && optional.has(name))),
  );
  // `fromEntries` defines members instead of assigning them, so `__proto__` is an ordinary name.
  return Object.fromEntries(
    present.map(([name, member]) => [name, withoutAbsent(member, optional, depth + 1)] as const),
  );
};

/** Adds absent objects as empty ones, to report each required member in them. */
const withEveryObject = (body: JsonValue): JsonValue => {
  if (!isObject(body)) return body;
  const { investor = {} } = body;
  if (!isObject(investor)) return body;
  const { full_address = {} } = investor;
  return { ...body, investor: { ...investor, full_address } };
};

const isObject = (value: JsonValue): value is { readonly [key: string]: JsonValue } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isBlank = (value: JsonValue): boolean => typeof value === "string" && value.trim() === "";

const FILES: readonly PropertyKey[] = ["identityDocument", "proofOfAddress"];

const hasFiles = (body: JsonValue): boolean =>
  isObject(body) &&
  isObject(body.investor ?? null) &&
  Object.keys(body.investor ?? {}).some((name) => FILES.includes(name));

const faultOf = (issue: z.core.$ZodIssue, body: JsonValue): Fault => {
  const member = issue.path.length === 0 ? "the body" : issue.path.map(String).join(".");
  const given = issue.code === "custom" ? issue.params?.code : undefined;
  const code = FILE_CODES.find((each) => each === given);
  const inFile = issue.path[0] === "investor" && FILES.includes(issue.path[1] ?? "");
  const missing = isMissing(issue.path, body);
  return {
    member,
    fault: missing ? "is missing" : issue.message,
    code: code ?? (inFile ? "INVALID_REQUEST" : missing ? "MISSING_MEMBER" : "INVALID_MEMBER"),
  };
};

/** One fault per member: later ones follow from the first. */
const firstOfEach = (faults: readonly Fault[]): readonly Fault[] => {
  const named = new Set<string>();
  return faults.filter(({ member }) => named.size < named.add(member).size);
};

const isMissing = (path: readonly PropertyKey[], body: JsonValue): boolean => {
  let value: JsonValue | undefined = body;
  for (const name of path) {
    value = value !== undefined && isObject(value) ? value[String(name)] : undefined;
  }
  return value === undefined;
};
