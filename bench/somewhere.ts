/**
 * Where in a list the request of this number asks, from 0 to below 1: evenly spread, in no order, and the
 * same in every run. Multiples of the golden ratio.
 */
export const somewhere = (n: number): number => (n * 0.618_033_988_749_895) % 1;
