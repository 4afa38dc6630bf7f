/** Shortest time between two observations of one instance, in ms. Source: interface 8.3, decision 8. */
export const CYCLE_INTERVAL_MS_MIN = 1_000;
