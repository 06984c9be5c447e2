/** When the parts of the page are loaded that its first view does not need. */
import { useIsFetching } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { loadRest } from "../data/part.ts";

/** The first view counts as there once nothing is asked for, or after so many milliseconds. */
const FIRST_VIEW_MS = 5_000;

/** Loads what other views need as soon as the first one is there: each then opens without the service, too. */
export const useRest = () => {
  const isAsking = useIsFetching() > 0;
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), FIRST_VIEW_MS);
    return () => clearTimeout(timer);
  }, []);
  useEffect(() => {
    if (isAsking && !late) return;
    const timer = setTimeout(loadRest, 200);
    return () => clearTimeout(timer);
  }, [isAsking, late]);
};
