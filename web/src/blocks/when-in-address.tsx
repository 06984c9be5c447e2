/** A moment that stands in the page's address, as unix seconds; none there for the usual one. */
import { useNavigate } from "@tanstack/react-router";
import type { ComponentProps } from "react";
import { When } from "../controls/when.tsx";

export const WhenInAddress = ({
  name,
  ...rest
}: Omit<ComponentProps<typeof When>, "onChange"> & {
  /** Of the search parameter. */
  readonly name: "at" | "since" | "with";
}) => {
  const navigate = useNavigate();
  return (
    <When
      {...rest}
      onChange={(chosen) =>
        void navigate({
          to: ".",
          search: (now: object) => ({
            ...now,
            [name]: chosen === undefined ? undefined : String(chosen),
          }),
        })
      }
    />
  );
};
