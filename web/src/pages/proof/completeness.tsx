/** Whether the token in view is shown to lack nothing, in one line. */
import { Answered } from "../../blocks/answered.tsx";
import { Finding } from "../../blocks/blocks.tsx";
import { graph, type ResultOf } from "../../data/ask.ts";
import { useGraph } from "../../data/queries.ts";
import { tokenLabel, useToken } from "../../data/tokens.ts";
import { countText } from "../../shown/amount.ts";
import { Moment } from "../../shown/shown.tsx";

const completenessQuery = graph(`query Completeness($coinType: String!) {
  completeness(coinType: $coinType) {
    state through provenAt isSigned missingFrom reason since
  }
}`);

export const Completeness = () => {
  const token = useToken();
  return token === null ? null : <OfToken coinType={token.coinType} label={tokenLabel(token)} />;
};

const OfToken = ({ coinType, label }: { readonly coinType: string; readonly label: string }) => {
  const query = useGraph(completenessQuery, { coinType });
  return (
    <Answered of={query} what={`Whether ${label} is complete`} lines={1}>
      {({ completeness }) =>
        completeness === null ? null : <Shown label={label} shown={completeness} />
      }
    </Answered>
  );
};

type Shown = NonNullable<ResultOf<typeof completenessQuery>["completeness"]>;

const Shown = ({ label, shown }: { readonly label: string; readonly shown: Shown }) => {
  const { state, through, provenAt, isSigned, missingFrom, reason, since } = shown;
  const className = "mb-4 text-sm break-words";
  if (state === "INCOMPLETE") {
    return (
      <Finding tone="bad" word="Incomplete" className={className}>
        A change of {label} is missing from checkpoint {countText(missingFrom ?? "0")} on, found{" "}
        <Moment at={since ?? ""} />: {reason}
      </Finding>
    );
  }
  return state === "COMPLETE" && through !== null ? (
    <Finding tone="good" word="Complete" className={className}>
      No change of {label} is missing through checkpoint {countText(through)}, proven{" "}
      <Moment at={provenAt ?? ""} />
      {isSigned ? " and signed with this deployment's key." : "; not signed."}
    </Finding>
  ) : (
    <Finding tone="plain" word="Not shown" className={className}>
      No proof of completeness of {label} was made, or none was conclusive.
    </Finding>
  );
};
