/**
 * The place in a list for request `n`, from 0 to below 1: multiples of the golden ratio, evenly
 * spread and reproducible.
 */
export const somewhere = (n: number): number => (n * 0.618_033_988_749_895) % 1;
